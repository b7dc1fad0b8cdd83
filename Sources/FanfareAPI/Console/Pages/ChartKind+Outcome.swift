extension ChartKind {
    /// Creates the colour of an outcome that ends a push.
    ///
    /// - Parameter outcome: its name in `fanfare.outcome_codes`; nil for an outcome that is not final.
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
