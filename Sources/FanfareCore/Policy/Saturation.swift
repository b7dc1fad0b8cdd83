// Times come from databases and from outside: sums of them saturate instead of trapping.
extension FixedWidthInteger {
    /// Returns the sum, or the nearest representable number on overflow.
    package func addingClamping(_ other: Self) -> Self {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, or the nearest representable number on overflow.
    package func subtractingClamping(_ other: Self) -> Self {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// Returns the product, or the nearest representable number on overflow.
    package func multipliedClamping(by factor: Self) -> Self {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? ((self < 0) == (factor < 0) ? .max : .min) : product
    }
}

/// Returns a random number clamped to 0...1; NaN counts as 0.
func clampedUnit(_ random: Double) -> Double {
    random > 0 ? min(random, 1) : 0
}
