import Foundation

/// What a number of recipients can find, to be said before an experiment is sent.
extension RateTest {
    /// The probability with which an existing difference is found: 80 %.
    public static let power = 0.8
    /// The largest sample that is considered, per arm.
    public static let largestSample = 1_000_000_000_000

    // The deviation that is exceeded, to one side, with the probability 1 - power.
    private static let powerDeviate = 0.8416212335729143

    /// Returns the number of recipients per arm that finds a difference with a probability of 80 %.
    ///
    /// For ``always(expectedSample:)`` this is the number at the last look; a clear difference is found earlier.
    ///
    /// - Parameters:
    ///   - base: the rate of one arm.
    ///   - other: the rate of the other arm.
    ///   - alpha: the error level, clamped. With `k` arms, Holm's first step uses `alpha / (k - 1)`.
    /// - Returns: nil if a rate is not within 0...1, if they are equal, or if ``largestSample`` does not suffice.
    public func recipients(toFind base: Double, against other: Double, alpha: Double = alpha) -> Int? {
        guard finds(base, other, perArm: Self.largestSample, alpha) else { return nil }
        var (low, high) = (0, Self.largestSample)
        while high - low > 1 {
            let middle = (low + high) / 2
            if finds(base, other, perArm: middle, alpha) { high = middle } else { low = middle }
        }
        return high
    }

    /// Returns the smallest increase of a rate that a number of recipients finds with a probability of 80 %.
    ///
    /// - Parameters:
    ///   - base: the rate of one arm.
    ///   - recipients: the number of recipients of each arm.
    ///   - alpha: the error level, clamped. With `k` arms, Holm's first step uses `alpha / (k - 1)`.
    /// - Returns: the difference of the rates; nil if not even an increase to 100 % is found, or if the rate is not
    ///   within 0...1.
    public func smallestIncrease(of base: Double, perArm recipients: Int, alpha: Double = alpha) -> Double? {
        guard finds(base, 1, perArm: recipients, alpha) else { return nil }
        var (low, high) = (base, 1.0)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if finds(base, middle, perArm: recipients, alpha) { high = middle } else { low = middle }
        }
        return high - base
    }

    /// Returns whether two rates are told apart with a probability of 80 %.
    private func finds(_ base: Double, _ other: Double, perArm recipients: Int, _ alpha: Double) -> Bool {
        guard (0...1).contains(base), (0...1).contains(other), base != other, recipients > 0 else { return false }
        let count = Double(recipients)
        let middle = (base + other) / 2
        let critical = criticalValue(sample: 2 * count, alpha: alpha) * (2 * middle * (1 - middle)).squareRoot()
        let separate = Self.powerDeviate * (base * (1 - base) + other * (1 - other)).squareRoot()
        return abs(other - base) * count.squareRoot() >= critical + separate
    }
}
