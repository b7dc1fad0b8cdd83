internal import PushTransport

/// Whether answers are better fetched a few at a time.
///
/// Many servers send each answer by itself, and a system call for each would be most of what a push costs. While far more
/// is in flight than came at once, the next look waits: an eighth of the time that answers take, half a millisecond at least
/// and two at most. So a stream is free again hardly later than the server makes it.
struct Slicing {
    private static let shortest: Int64 = 500_000
    private static let longest: Int64 = 2_000_000

    private var lastReadAt = MonotonicTime.min
    private var slice: Int64 = 0

    /// Answers were fetched.
    ///
    /// - Parameters:
    ///   - answers: how many.
    ///   - inFlight: how many others are awaited.
    ///   - took: how many nanoseconds the last of them took.
    ///   - now: the time.
    mutating func note(answers: Int, inFlight: Int, took: Int64, now: MonotonicTime) {
        let isUseful = inFlight >= 16 && answers * 4 < inFlight
        slice = isUseful ? min(max(took / 8, Self.shortest), Self.longest) : 0
        lastReadAt = now
    }

    /// How many nanoseconds to leave the sockets alone.
    func pause(now: MonotonicTime) -> Int64 {
        slice > 0 ? min(max(lastReadAt + slice - now, 0), slice) : 0
    }
}
