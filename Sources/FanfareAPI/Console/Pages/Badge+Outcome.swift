extension Badge {
    /// Creates the badge of an outcome.
    ///
    /// - Parameter outcome: its name in `fanfare.outcome_codes`.
    init(outcome: String) {
        let tone: Tone =
            switch outcome {
            case "accepted": .good
            case "pending", "attempted", "retrying": .busy
            case "rejected", "refused", "exhausted", "unknown": .warn
            default: .quiet
            }
        self.init(tone, outcome.replacing("_", with: " "))
    }
}
