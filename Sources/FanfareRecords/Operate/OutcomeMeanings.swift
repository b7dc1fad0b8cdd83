package import PostgresClient

/// Reads the meanings of outcomes and their reasons.
package struct OutcomeMeanings: PostgresStatement {
    package static let name = "outcome_meanings"
    package static let sql = "SELECT outcome, reason, min(meaning) FROM fanfare.outcome_codes GROUP BY outcome, reason"

    package init() {}

    /// The meaning of one reason; if several providers have it, one provider's text.
    package struct Row: Sendable {
        package let outcome: String
        package let reason: String
        package let meaning: String
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(outcome: try row.string(0), reason: try row.string(1), meaning: try row.string(2))
    }
}
