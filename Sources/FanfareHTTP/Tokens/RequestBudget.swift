internal import PushTransport
internal import Threading

/// A rate limit on requests.
package final class RequestBudget: Sendable {
    private let bucket: Locked<TokenBucket>

    /// Creates a full budget.
    ///
    /// - Parameter rate: requests a second, and the largest burst.
    package init(_ rate: Int) {
        bucket = Locked(TokenBucket(burst: rate, interval: 1_000_000_000 / Int64(max(rate, 1)), now: Self.now))
    }

    /// Takes one request from the budget.
    ///
    /// - Returns: whether one was left.
    package func take() -> Bool {
        bucket.withLock { $0.take(now: Self.now) }
    }

    private static var now: MonotonicTime { Clocks.steady * 1000 }
}
