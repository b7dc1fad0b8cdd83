package import PostgresClient

/// The meaning of one reason; if several providers have it, one provider's text.
package struct OutcomeMeaningsRow: Sendable {
    package let outcome: String
    package let reason: String
    package let meaning: String
}

extension SQL {
    /// Reads the meanings of outcomes and their reasons.
    package static let outcomeMeanings = Statement<OutcomeMeaningsRow>(
        "outcome_meanings",
        "SELECT outcome, reason, min(meaning) FROM fanfare.outcome_codes GROUP BY outcome, reason",
        row: OutcomeMeaningsRow.init
    )
}
