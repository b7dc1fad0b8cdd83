/// Paces connects: a burst at once, then one per interval.
public struct TokenBucket: Sendable {
    private let burst: Double
    private let interval: Int64
    private var tokens: Double
    private var filledAt: MonotonicTime

    /// A full bucket.
    ///
    /// - Parameters:
    ///   - burst: how many tokens it holds.
    ///   - interval: after how many nanoseconds one comes back.
    ///   - now: the time.
    public init(burst: Int, interval: Int64, now: MonotonicTime) {
        self.burst = Double(max(burst, 1))
        self.interval = max(interval, 1)
        tokens = self.burst
        filledAt = now
    }

    /// Fills up what has come back since, and counts.
    ///
    /// - Parameter now: the time.
    /// - Returns: how many tokens are there.
    public mutating func available(now: MonotonicTime) -> Int {
        tokens = min(burst, tokens + Double(max(now - filledAt, 0)) / Double(interval))
        filledAt = max(now, filledAt)
        return Int(tokens)
    }

    /// Takes a token, if there is one.
    ///
    /// - Parameter now: the time.
    /// - Returns: whether there was one.
    public mutating func take(now: MonotonicTime) -> Bool {
        guard available(now: now) > 0 else { return false }
        tokens -= 1
        return true
    }

    /// When the next token will be there.
    ///
    /// - Returns: the moment; now or earlier if one is there.
    public func nextToken() -> MonotonicTime {
        tokens >= 1 ? filledAt : filledAt + Int64((1 - tokens) * Double(interval)) + 1
    }
}
