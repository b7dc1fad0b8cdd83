package import PostgresClient

/// The count of one outcome.
package struct EventOutcomesRow: Sendable {
    package let app: String
    package let rule: String
    package let provider: String
    package let environment: String
    /// 1 for the first attempt, 2 for all later ones.
    package let attempt: Int16
    package let outcome: String
    package let reason: String
    package let deliveries: Int64
    /// When the first of these batches was planned, and when the last one was closed; nil while none is.
    package let firstAt: Timestamp
    package let lastAt: Timestamp?
    /// The last batch that was read, the same in all rows: the next query continues after it, until there are no
    /// rows.
    package let lastBatch: Int64
    /// What the outcome means, and what to do about it.
    package let advice: String?
}

extension SQL {
    /// Counts each outcome of an event, by rule and target, in a limited number of batches.
    ///
    /// Binds: event, after, budget.
    package static let eventOutcomes = Statement<EventOutcomesRow, Int64, Int64, Int32>(
        "event_outcomes",
        """
        SELECT app, rule, provider, environment, attempt, outcome, reason, deliveries, first_at, last_at, last_batch, advice
        FROM fanfare.event_outcomes($1, $2, $3)
        """,
        row: EventOutcomesRow.init
    )
}

/// The count of one outcome of one variant.
package struct EventVariantsRow: Sendable {
    /// The rule; nil in the last row, which exists while there are batches.
    package let rule: String?
    /// The variant, `holdout` for recipients that got nothing; nil for deleted devices, and if the rule has none.
    package let variant: String?
    package let outcome: String
    package let reason: String
    package let count: Int64
    /// The last batch that was read.
    package let lastBatch: Int64
}

extension SQL {
    /// Counts each outcome of each variant of an event, in a limited number of batches.
    ///
    /// Binds: event, after, budget.
    package static let eventVariants = Statement<EventVariantsRow, Int64, Int64, Int32>(
        "event_variants",
        """
        SELECT rule, variant, outcome, reason, count, last_batch FROM fanfare.event_variants($1, $2, $3)
        """
    ) { row throws(PostgresError) in
        EventVariantsRow(
            rule: try row.string(orNil: 0),
            variant: try row.string(orNil: 1),
            outcome: try row.string(orNil: 2) ?? "",
            reason: try row.string(orNil: 3) ?? "",
            count: try row.int64(4),
            lastBatch: try row.int64(5)
        )
    }
}
