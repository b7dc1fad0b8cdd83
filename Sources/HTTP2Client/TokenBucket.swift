/// Paces connects: a burst at once, then one per interval.
struct TokenBucket {
    private let burst: Double
    private let interval: Int64
    private var tokens: Double
    private var filledAt: MonotonicTime

    /// A full bucket.
    init(burst: Int, interval: Int64, now: MonotonicTime) {
        self.burst = Double(max(burst, 1))
        self.interval = max(interval, 1)
        tokens = self.burst
        filledAt = now
    }

    /// How many tokens are there now.
    mutating func available(now: MonotonicTime) -> Int {
        tokens = min(burst, tokens + Double(max(now - filledAt, 0)) / Double(interval))
        filledAt = max(now, filledAt)
        return Int(tokens)
    }

    /// Takes a token, if there is one.
    mutating func take(now: MonotonicTime) -> Bool {
        guard available(now: now) > 0 else { return false }
        tokens -= 1
        return true
    }

    /// When the next token will be there; now or earlier if one is.
    func nextToken() -> MonotonicTime {
        tokens >= 1 ? filledAt : filledAt + Int64((1 - tokens) * Double(interval)) + 1
    }
}
