internal import PushTransport

/// The memory for one request in a session, which nghttp2's callbacks reach through a pointer.
@unsafe
struct Slot {
    /// The stage of the request.
    enum Stage: UInt8 {
        /// Without a request. Can transition to: waiting.
        case free
        /// Not submitted to nghttp2. Can transition to: submitted, free.
        case waiting
        /// On a stream. Can transition to: finished, free.
        case submitted
        /// The stream is closed, or its remaining data is ignored. Can transition to: free.
        case finished
    }

    /// The reason why a request ended without a status.
    enum End: UInt8 {
        /// The stream was closed; see ``Slot/closeCode``.
        case closed
        /// The time to send had ended.
        case tooLate
        /// nghttp2 rejected it.
        case refusedLocally
    }

    var stage = Stage.free
    var end = End.closed
    /// The final status of the answer; 0 until its header block is complete.
    var status: UInt16 = 0
    /// The final status in a header block that may be incomplete.
    var announcedStatus: UInt16 = 0
    let index: Int32
    var streamID: Int32 = 0
    var closeCode: UInt32 = 0
    /// The size of the answer's header fields as HPACK counts it, and the size of its body.
    var headerBytes = 0
    var answerBytes = 0
    /// The number of bytes of the body that nghttp2 has taken.
    var bodyOffset = 0
    var contentLength = 0
    /// The number of bytes that the session had produced before this request's first byte; `.max` until then.
    var wireStart = UInt64.max
    var submittedAt: MonotonicTime = 0
    var startedAt: MonotonicTime = 0
    var deadlineAt: MonotonicTime = 0

    init(index: Int32) {
        unsafe self.index = index
    }

    /// Resets the slot for a request.
    mutating func begin(_ request: PushRequest, submittedAt: MonotonicTime) {
        unsafe stage = .waiting
        unsafe end = .closed
        unsafe status = 0
        unsafe announcedStatus = 0
        unsafe streamID = 0
        unsafe closeCode = 0
        unsafe headerBytes = 0
        unsafe answerBytes = 0
        unsafe bodyOffset = 0
        unsafe contentLength = request.contentLength
        unsafe wireStart = .max
        unsafe self.submittedAt = submittedAt
        unsafe deadlineAt = .max
    }
}
