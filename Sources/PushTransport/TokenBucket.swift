/// Limits the rate of connection attempts: a burst at once, then one per interval.
public struct TokenBucket: Sendable {
    private let burst: Double
    private let interval: Int64
    private var tokens: Double
    private var filledAt: MonotonicTime

    /// Creates a full bucket.
    ///
    /// - Parameters:
    ///   - burst: the number of tokens that the bucket holds.
    ///   - interval: the time in nanoseconds after which one token is added.
    ///   - now: the current time.
    public init(burst: Int, interval: Int64, now: MonotonicTime) {
        self.burst = Double(max(burst, 1))
        self.interval = max(interval, 1)
        tokens = self.burst
        filledAt = now
    }

    /// Adds the tokens of the time elapsed, and returns their number.
    ///
    /// - Parameter now: the current time.
    /// - Returns: the number of available tokens.
    public mutating func available(now: MonotonicTime) -> Int {
        tokens = min(burst, tokens + Double(max(now - filledAt, 0)) / Double(interval))
        filledAt = max(now, filledAt)
        return Int(tokens)
    }

    /// Takes a token if one is available.
    ///
    /// - Parameter now: the current time.
    /// - Returns: whether a token was taken.
    public mutating func take(now: MonotonicTime) -> Bool {
        guard available(now: now) > 0 else { return false }
        tokens -= 1
        return true
    }

    /// Returns when the next token becomes available.
    ///
    /// - Returns: the time; not in the future if a token is available.
    public func nextToken() -> MonotonicTime {
        tokens >= 1 ? filledAt : filledAt + Int64((1 - tokens) * Double(interval)) + 1
    }
}
