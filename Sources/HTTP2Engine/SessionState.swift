internal import CNGHTTP2
internal import PushTransport

/// The state that nghttp2's callbacks read and write: plain memory, without reference counting or exclusivity checks.
@unsafe
struct SessionState {
    /// The session, for callbacks that run rarely.
    let owner: Unmanaged<Session>
    let requests: UnsafeMutablePointer<PushRequest>
    /// The ended slots that were not processed yet; the array has room for all slots.
    let finished: UnsafeMutablePointer<Int32>
    var finishedCount = 0
    /// The slot whose header fields are arriving.
    var current: UnsafeMutablePointer<Slot>?
    /// The number of bytes that nghttp2 has produced, and the number that the socket has taken.
    var produced: UInt64 = 0
    var accepted: UInt64 = 0
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS if it was just announced.
    var newLimit: UInt32?
    /// The peer's SETTINGS_HEADER_TABLE_SIZE if it was just announced: the last value and the smallest.
    var newTableLimit: (last: UInt32, smallest: UInt32)?
    /// The error code of the peer's GOAWAY.
    var goaway: UInt32?
    /// Whether no request may be started any more; see ``PushTransport/sendUntil``.
    var isTooLate = false
    /// The number of bytes received since a request last ended.
    var bytesSinceEnd = 0
    /// The limit for an answer's header fields and for its body, each in bytes.
    let readLimit: Int

    /// Marks a slot's request as ended.
    mutating func finish(_ slot: UnsafeMutablePointer<Slot>) {
        guard unsafe slot.pointee.stage == .submitted else { return }
        unsafe slot.pointee.stage = .finished
        unsafe finished[finishedCount] = slot.pointee.index
        unsafe finishedCount += 1
        unsafe bytesSinceEnd = 0
    }
}
