import Foundation

/// A test of whether two rates differ.
public enum RateTest: Hashable, Sendable {
    /// The plain test, which is valid for one look at a time that was fixed before.
    ///
    /// Each further look adds false winners: with 20 looks, one comparison in four of two equal rates finds a
    /// difference.
    case once
    /// The always-valid test, which keeps its error level over any number of looks.
    ///
    /// `expectedSample` is the number of recipients of both arms together at which a decision is expected. The interval
    /// is narrowest there. It must be fixed before the first look, because a value chosen from the results voids the
    /// error level; values below 1 count as 1. (Waudby-Smith et al. 2023, equations 9, 155 and 161.)
    case always(expectedSample: Int)

    /// The error level of experiments.
    public static let alpha = 0.05
    /// The always-valid test for 5,000 recipients.
    ///
    /// With this sample, the test finds 5 % against 6 % with 25,000 recipients an arm in more than 90 % of
    /// experiments. There its interval is 7 % wider than that of a test for 50,000 recipients. So one constant serves
    /// experiments of all sizes.
    public static let standard = RateTest.always(expectedSample: 5000)

    /// Compares two rates.
    ///
    /// The two tests use different estimates of the standard error for the interval and, with ``once``, for the
    /// p-value. So with ``once``, a p-value close to `alpha` may disagree with the interval.
    ///
    /// - Parameters:
    ///   - first: an arm.
    ///   - second: the arm whose lead is tested.
    ///   - alpha: the error level, clamped to 10^-12...0.5.
    /// - Returns: the difference of `second` minus `first`; without recipients, an interval that excludes nothing.
    public func compare(_ first: RateCount, _ second: RateCount, alpha: Double = alpha) -> RateComparison {
        guard first.recipients > 0, second.recipients > 0 else {
            return RateComparison(difference: 0, interval: RateInterval(low: -1, high: 1), deviate: 0, p: 1)
        }
        let difference = second.rate - first.rate
        let error = (first.variance + second.variance).squareRoot()
        let sample = Double(first.recipients) + Double(second.recipients)
        let half = error * criticalValue(sample: sample, alpha: alpha)
        let (deviate, p): (Double, Double)
        switch self {
        case .once:
            deviate = Self.pooledDeviate(first, second)
            p = Normal.twoSidedP(deviate)
        case .always(let expectedSample):
            deviate = difference / error
            p = Self.alwaysValidP(deviate, sample: sample, expectedSample: expectedSample)
        }
        return RateComparison(
            difference: difference,
            interval: RateInterval(around: difference, half: half),
            deviate: deviate,
            p: p
        )
    }

    /// Returns the number of standard errors that a difference must exceed.
    ///
    /// - Parameters:
    ///   - sample: the recipients of both arms together.
    ///   - alpha: the error level, clamped.
    /// - Returns: 1.96 for the plain test at 0.05; about 3 to 4 for the always-valid test.
    func criticalValue(sample: Double, alpha: Double) -> Double {
        switch self {
        case .once: return Normal.criticalValue(alpha)
        case .always(let expectedSample):
            let scaled = Self.scaled(max(1, sample), expectedSample)
            let growth = log((scaled + 1).squareRoot() / Normal.clamped(alpha))
            return (2 * (scaled + 1) * growth / scaled).squareRoot()
        }
    }

    /// Returns n ρ², the sample in units of the expected one.
    ///
    /// ρ is computed from the error level of the experiment, also where Holm's steps use a smaller one. Any fixed ρ is
    /// valid at all levels, and with one ρ the p-value and the intervals of all levels agree.
    private static func scaled(_ sample: Double, _ expectedSample: Int) -> Double {
        let spread = -2 * log(alpha)
        return sample * (spread + log(spread + 1)) / Double(max(1, expectedSample))
    }

    private static func alwaysValidP(_ deviate: Double, sample: Double, expectedSample: Int) -> Double {
        // The boundary has the product ρ·α² in its logarithm. Some texts print a sum there, which is wrong.
        let scaled = scaled(sample, expectedSample)
        let exponent = -scaled * deviate * deviate / (2 * (scaled + 1))
        return min(1, (scaled + 1).squareRoot() * exp(exponent))
    }

    private static func pooledDeviate(_ first: RateCount, _ second: RateCount) -> Double {
        let (ours, theirs) = (Double(first.recipients), Double(second.recipients))
        let pooled = (Double(first.successes) + Double(second.successes)) / (ours + theirs)
        let variance = pooled * (1 - pooled) * (1 / ours + 1 / theirs)
        // Zero if none or all of both arms succeeded; the rates are then equal.
        return variance > 0 ? (second.rate - first.rate) / variance.squareRoot() : 0
    }
}

/// The difference of two rates, with what is known about it.
public struct RateComparison: Hashable, Sendable {
    /// The second rate minus the first.
    public let difference: Double
    /// The values that the true difference may have.
    public let interval: RateInterval
    /// The difference in standard errors; its square is the chi-square value of the plain test.
    public let deviate: Double
    /// The p-value: the evidence against equal rates; small values are strong evidence.
    public let p: Double
}
