internal import PushTransport

/// The place of one request in a session: plain memory, which nghttp2's callbacks reach through a pointer.
@unsafe
struct Slot {
    /// How far the request is.
    enum Stage: UInt8 {
        /// There is none. Can transition to: waiting.
        case free
        /// nghttp2 does not know it. Can transition to: submitted, free.
        case waiting
        /// It has a stream. Can transition to: finished, free.
        case submitted
        /// The stream is closed or of no more interest. Can transition to: free.
        case finished
    }

    /// How it ended where no status came.
    enum End: UInt8 {
        /// The stream was closed; see ``Slot/closeCode``.
        case closed
        /// The time to send had passed.
        case tooLate
        /// nghttp2 did not take it.
        case refusedLocally
    }

    var stage = Stage.free
    var end = End.closed
    /// The final status of the answer; 0 until all of its header block has come.
    var status: UInt16 = 0
    /// The final status that a header block, which may never end, gives.
    var announcedStatus: UInt16 = 0
    let index: Int32
    var streamID: Int32 = 0
    var closeCode: UInt32 = 0
    /// Bytes of the answer's fields, as HPACK counts them, and of its body.
    var headerBytes = 0
    var answerBytes = 0
    /// How much of the body nghttp2 has taken.
    var bodyOffset = 0
    var contentLength = 0
    /// How many bytes the session had produced before the first of this request; `.max` while it has produced none.
    var wireStart = UInt64.max
    var submittedAt: MonotonicTime = 0
    var startedAt: MonotonicTime = 0
    var deadlineAt: MonotonicTime = 0

    init(index: Int32) {
        unsafe self.index = index
    }

    /// Empties it for a request.
    mutating func begin(_ request: borrowing PushRequest, submittedAt: MonotonicTime) {
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
