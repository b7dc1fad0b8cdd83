package import PostgresClient

/// Counts each outcome of an event, by rule and target, in a limited number of batches.
package struct EventOutcomes: PostgresStatement {
    package static let name = "event_outcomes"
    package static let sql = """
        SELECT app, rule, provider, environment, attempt, outcome, reason, deliveries, first_at, last_at, last_batch, advice
        FROM fanfare.event_outcomes($1, $2, $3)
        """

    package let event: Int64
    /// The last batch that was counted already; 0 for none.
    package let after: Int64
    package let budget: Int32

    package init(event: Int64, after: Int64 = 0, budget: Int32 = SearchBudget.counted) {
        (self.event, self.after, self.budget) = (event, after, budget)
    }

    /// The count of one outcome.
    package struct Row: Sendable {
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

    package func bind(to binds: inout PostgresBinds) {
        binds.append(event)
        binds.append(after)
        binds.append(budget)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            app: try row.string(0),
            rule: try row.string(1),
            provider: try row.string(2),
            environment: try row.string(3),
            attempt: try row.int16(4),
            outcome: try row.string(5),
            reason: try row.string(6),
            deliveries: try row.int64(7),
            firstAt: try row.timestamp(8),
            lastAt: try row.timestamp(orNil: 9),
            lastBatch: try row.int64(10),
            advice: try row.string(orNil: 11)
        )
    }
}

/// Counts each outcome of each variant of an event, in a limited number of batches.
package struct EventVariants: PostgresStatement {
    package static let name = "event_variants"
    package static let sql = """
        SELECT rule, variant, outcome, reason, count, last_batch FROM fanfare.event_variants($1, $2, $3)
        """

    package let event: Int64
    /// The last batch that was counted already; 0 for none.
    package let after: Int64
    package let budget: Int32

    package init(event: Int64, after: Int64 = 0, budget: Int32) {
        (self.event, self.after, self.budget) = (event, after, budget)
    }

    /// The count of one outcome of one variant.
    package struct Row: Sendable {
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

    package func bind(to binds: inout PostgresBinds) {
        binds.append(event)
        binds.append(after)
        binds.append(budget)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            rule: try row.string(orNil: 0),
            variant: try row.string(orNil: 1),
            outcome: try row.string(orNil: 2) ?? "",
            reason: try row.string(orNil: 3) ?? "",
            count: try row.int64(4),
            lastBatch: try row.int64(5)
        )
    }
}
