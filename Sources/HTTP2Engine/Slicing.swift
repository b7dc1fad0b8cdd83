internal import PushTransport

/// Decides whether to pause between reads, so that one read fetches several answers.
///
/// Many servers send each answer by itself, and one system call for each would be most of a push's CPU cost. If at
/// least 16 requests are in flight and a read fetched less than a quarter of them, the next read waits for an eighth of
/// the answers' latency: at least half a millisecond, at most two. Streams therefore become free hardly later than
/// without the pause.
struct Slicing {
    private static let shortest: Int64 = 500_000
    private static let longest: Int64 = 2_000_000

    private var lastReadAt = MonotonicTime.min
    private var slice: Int64 = 0

    /// Records that a read fetched answers.
    ///
    /// - Parameters:
    ///   - answers: their number.
    ///   - inFlight: the number of requests that still wait for an answer.
    ///   - took: the latency of the last answer in nanoseconds.
    ///   - now: the current time.
    mutating func note(answers: Int, inFlight: Int, took: Int64, now: MonotonicTime) {
        let isUseful = inFlight >= 16 && answers * 4 < inFlight
        slice = isUseful ? min(max(took / 8, Self.shortest), Self.longest) : 0
        lastReadAt = now
    }

    /// Returns how many nanoseconds to wait before the next read.
    func pause(now: MonotonicTime) -> Int64 {
        slice > 0 ? min(max(lastReadAt + slice - now, 0), slice) : 0
    }
}
