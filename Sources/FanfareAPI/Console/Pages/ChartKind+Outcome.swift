extension ChartKind {
    /// The colour of an outcome that ends a push.
    ///
    /// - Parameter outcome: as `fanfare.outcome_codes` calls it; nil for one that ends none.
    init?(ending outcome: String) {
        switch outcome {
        case "accepted": self = .accepted
        case "pending", "attempted", "retrying": return nil
        case "gone": self = .gone
        case "rejected", "refused", "exhausted", "unknown": self = .rejected
        default: self = .own
        }
    }
}
