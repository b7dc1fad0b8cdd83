internal import CNGHTTP2
internal import PushTransport

/// What nghttp2's callbacks read and write: plain memory, so that they cost no reference counts and no checks.
@unsafe
struct SessionState {
    /// For what happens seldom.
    let owner: Unmanaged<Session>
    let requests: UnsafeMutablePointer<PushRequest>
    /// Slots that ended and were not looked at, as many as there are slots.
    let finished: UnsafeMutablePointer<Int32>
    var finishedCount = 0
    /// The slot whose answer's fields are coming.
    var current: UnsafeMutablePointer<Slot>?
    /// Bytes that nghttp2 has made, and those that the socket has taken.
    var produced: UInt64 = 0
    var accepted: UInt64 = 0
    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS, if it has just told it.
    var newLimit: UInt32?
    /// Its SETTINGS_HEADER_TABLE_SIZE, likewise, and the smallest if it told several.
    var newTableLimit: (last: UInt32, smallest: UInt32)?
    /// The code of the peer's GOAWAY.
    var goaway: UInt32?
    /// Nothing may begin any more; see ``PushTransport/sendUntil``.
    var isTooLate = false
    /// Bytes that came since a request last ended.
    var bytesSinceEnd = 0
    /// Bytes read of an answer's fields and of its body, each.
    let readLimit: Int

    /// A slot's request has ended, whatever became of it.
    mutating func finish(_ slot: UnsafeMutablePointer<Slot>) {
        guard unsafe slot.pointee.stage == .submitted else { return }
        unsafe slot.pointee.stage = .finished
        unsafe finished[finishedCount] = slot.pointee.index
        unsafe finishedCount += 1
        unsafe bytesSinceEnd = 0
    }
}
