extension Badge {
    /// An outcome in a word.
    ///
    /// - Parameter outcome: as `fanfare.outcome_codes` calls it.
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
