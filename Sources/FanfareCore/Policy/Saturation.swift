// Times come from databases and strangers: sums of them saturate instead of trapping.
extension FixedWidthInteger {
    /// The sum, or the nearest representable number where it overflows.
    package func addingClamping(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// The difference, or the nearest representable number where it overflows.
    package func subtractingClamping(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// The product, or the nearest representable number where it overflows.
    package func multipliedClamping(by factor: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? ((self < 0) == (factor < 0) ? .max : .min) : product
    }
}

/// A random number forced into 0...1; not a number counts as 0.
func clampedUnit(_ random: Double) -> Double {
    random > 0 ? min(random, 1) : 0
}
