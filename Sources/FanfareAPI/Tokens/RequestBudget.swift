internal import PushTransport
internal import Threading

/// How many requests somebody may still make.
final class RequestBudget: Sendable {
    private let bucket: Locked<TokenBucket>

    /// A full one.
    ///
    /// - Parameter rate: requests a second, and as many at once.
    init(_ rate: Int) {
        bucket = Locked(TokenBucket(burst: rate, interval: 1_000_000_000 / Int64(max(rate, 1)), now: Self.now))
    }

    /// Takes a request off it.
    ///
    /// - Returns: whether there was one left.
    func take() -> Bool {
        bucket.withLock { $0.take(now: Self.now) }
    }

    private static var now: MonotonicTime { Clocks.steady * 1000 }
}
