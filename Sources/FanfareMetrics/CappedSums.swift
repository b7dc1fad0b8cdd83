// Sums saturate, because a counter must not trap: swift-metrics requires that it stays at the largest number.

extension Int64 {
    /// Returns the sum, saturated at the largest or smallest number.
    func addingCapped(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other > 0 ? .max : .min) : sum
    }
}

extension Double {
    /// Returns the sum, saturated at the largest or smallest finite number.
    func addingCapped(_ other: Double) -> Double {
        let limit = Double.greatestFiniteMagnitude
        return max(-limit, min(self + other, limit))
    }
}
