import Foundation

/// Tails of the normal and of the chi-square distribution.
package enum Normal {
    /// Returns an error level within the bounds in which the formulas are exact.
    ///
    /// - Parameter alpha: an error level.
    /// - Returns: the level clamped to 10^-12...0.5; NaN counts as 10^-12, the strictest level.
    package static func clamped(_ alpha: Double) -> Double {
        alpha > 1e-12 ? min(alpha, 0.5) : 1e-12
    }

    /// Returns the probability of a deviation at least this large, to either side.
    ///
    /// - Parameter deviate: the deviation in standard errors; NaN counts as 0.
    /// - Returns: a probability.
    package static func twoSidedP(_ deviate: Double) -> Double {
        deviate.isNaN ? 1 : erfc(abs(deviate) / 2.0.squareRoot())
    }

    /// Returns the deviation that is exceeded, to either side, with a probability: 1.96 for 0.05.
    ///
    /// - Parameter alpha: the probability, clamped (``clamped(_:)``).
    /// - Returns: a number of standard errors.
    package static func criticalValue(_ alpha: Double) -> Double {
        // The usual level needs no search.
        if alpha == 0.05 { return 1.959963984540054 }
        let alpha = clamped(alpha)
        var (low, high) = (0.0, 8.0)
        for _ in 0..<60 {
            let middle = (low + high) / 2
            if twoSidedP(middle) > alpha { low = middle } else { high = middle }
        }
        return high
    }

    /// Returns the probability that a chi-square value is at least this large.
    ///
    /// - Parameters:
    ///   - chiSquare: the value; 0 or less, and NaN, count as 0.
    ///   - degrees: the degrees of freedom; 0 or less count as 1.
    /// - Returns: a probability.
    package static func chiSquareTail(_ chiSquare: Double, degrees: Int) -> Double {
        guard chiSquare > 0 else { return 1 }
        guard chiSquare.isFinite else { return 0 }
        let half = chiSquare / 2
        // Q(a + 1, x) = Q(a, x) + x^a e^-x / Γ(a + 1), from Q(1/2, x) = erfc(√x) or Q(1, x) = e^-x. Terms are logarithms,
        // because their factors overflow.
        let isOdd = max(1, degrees) % 2 == 1
        var order = isOdd ? 0.5 : 1
        var tail = isOdd ? erfc(half.squareRoot()) : exp(-half)
        var term = isOdd ? 0.5 * log(half) - half - 0.5 * log(Double.pi / 4) : log(half) - half
        while order < Double(max(1, degrees)) / 2 {
            tail += exp(term)
            order += 1
            term += log(half / order)
        }
        return min(1, tail)
    }
}
