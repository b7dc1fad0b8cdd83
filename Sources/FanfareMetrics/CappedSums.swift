// No count ends the program: swift-metrics asks that it stays at the largest number there is.

extension Int64 {
    /// The sum, or the largest or smallest number there is.
    func addingCapped(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other > 0 ? .max : .min) : sum
    }
}

extension Double {
    /// The sum, or the largest or smallest finite number there is.
    func addingCapped(_ other: Double) -> Double {
        let limit = Double.greatestFiniteMagnitude
        return max(-limit, min(self + other, limit))
    }
}
