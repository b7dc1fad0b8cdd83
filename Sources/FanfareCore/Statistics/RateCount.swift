/// The number of successes among recipients, with their rate.
public struct RateCount: Hashable, Sendable {
    /// The number of recipients.
    public let recipients: Int
    /// The number of recipients who succeeded, from 0 to ``recipients``.
    public let successes: Int

    /// Makes a count; nil if a number is negative, or if there are more successes than recipients.
    ///
    /// - Parameters:
    ///   - successes: the number of successes.
    ///   - recipients: the number of recipients.
    public init?(_ successes: Int, of recipients: Int) {
        guard successes >= 0, successes <= recipients else { return nil }
        self.recipients = recipients
        self.successes = successes
    }

    /// The successes divided by the recipients; 0 if there are no recipients.
    public var rate: Double { recipients == 0 ? 0 : Double(successes) / Double(recipients) }

    /// Returns the interval of the true rate, by Wilson's formula.
    ///
    /// Unlike the plain interval, it stays within 0...1, and has a width for a rate of 0.
    ///
    /// - Parameter alpha: the error level: 0.05 for 95 %. It is clamped to 10^-12...0.5.
    /// - Returns: 0...1 if there are no recipients.
    public func interval(alpha: Double = 0.05) -> RateInterval {
        guard recipients > 0 else { return RateInterval(low: 0, high: 1) }
        let count = Double(recipients)
        let deviate = Normal.criticalValue(alpha)
        let spread = deviate * deviate / count
        let centre = (rate + spread / 2) / (1 + spread)
        let half = deviate * (rate * (1 - rate) / count + spread / (4 * count)).squareRoot() / (1 + spread)
        return RateInterval(
            low: successes == 0 ? 0 : max(0, centre - half),
            high: successes == recipients ? 1 : min(1, centre + half)
        )
    }

    /// The estimated variance of ``rate``; the largest possible one if there are no recipients.
    ///
    /// If none or all of the recipients succeeded, the plain estimate is 0, which would turn any difference into a
    /// certainty. Then the estimate counts one success and one failure more.
    var variance: Double {
        guard recipients > 0 else { return 0.25 }
        let count = Double(recipients)
        guard successes == 0 || successes == recipients else { return rate * (1 - rate) / count }
        let adjusted = (Double(successes) + 1) / (count + 2)
        return adjusted * (1 - adjusted) / count
    }
}

/// The values that a rate, or a difference of two rates, may have.
public struct RateInterval: Hashable, Sendable {
    /// The lowest value.
    public let low: Double
    /// The highest value.
    public let high: Double

    /// Makes an interval.
    ///
    /// - Parameters:
    ///   - low: the lowest value.
    ///   - high: the highest value.
    public init(low: Double, high: Double) {
        self.low = low
        self.high = high
    }

    /// Makes the interval around a difference of two rates, clamped to -1...1.
    init(around difference: Double, half: Double) {
        low = max(-1, difference - half)
        high = min(1, difference + half)
    }

    /// Whether all values are above 0, or all are below.
    public var excludesZero: Bool { low > 0 || high < 0 }
}
