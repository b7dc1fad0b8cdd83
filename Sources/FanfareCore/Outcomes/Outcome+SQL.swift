extension Outcome {
    /// Every outcome in the order of its code: the rows of table `outcome_codes`.
    public static let all: [Outcome] = allCases.sorted { $0.rawValue < $1.rawValue }

    /// The rows of `outcome_codes(code, outcome, reason, provider, meaning)` as the text after `VALUES` in `schema.sql`.
    ///
    /// One row a line, indented by four spaces, without a final line break. A test compares the schema with it.
    public static var sqlValues: String {
        all.map { outcome in
            let provider = outcome.provider.map { "'\($0.rawValue)'" } ?? "NULL"
            let meaning = outcome.meaning.replacing("'", with: "''")
            return "    (\(outcome.rawValue), '\(outcome.outcome)', '\(outcome.reason)', \(provider), '\(meaning)')"
        }
        .joined(separator: ",\n")
    }
}
