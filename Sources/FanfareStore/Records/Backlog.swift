package import PostgresClient

/// What waits to be claimed of one kind, about.
package struct BacklogRow: Sendable {
    package let app: String
    package let provider: String
    package let environment: String
    package let lane: Int16
    /// 0 for none.
    package let gateID: Int32
    package let isRetry: Bool
    package let batches: Int64
    /// Whether there are more batches than these.
    package let isMore: Bool
    /// Reckoned from the first fifty batches.
    package let deliveries: Int64
    /// Of the batches those whose time has come.
    package let dueBatches: Int64
    package let nextAt: Timestamp
    /// When the oldest of the first fifty was planned.
    package let oldest: Timestamp
}

/// The backlog by target, lane and gate, without counting all of it.
package struct ListBacklog: PostgresStatement {
    package static let name = "list_backlog"
    package static let sql = """
        SELECT app, provider, environment, lane, gate_id, is_retry, batches, is_more, deliveries, due_batches, next_at, oldest
        FROM fanfare.backlog()
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> BacklogRow {
        BacklogRow(
            app: try row.string(0),
            provider: try row.string(1),
            environment: try row.string(2),
            lane: try row.int16(3),
            gateID: try row.int32(4),
            isRetry: try row.bool(5),
            batches: try row.int64(6),
            isMore: try row.bool(7),
            deliveries: try row.int64(8),
            dueBatches: try row.int64(9),
            nextAt: try row.timestamp(10),
            oldest: try row.timestamp(11)
        )
    }
}

/// What a cancellation of some events would still stop.
package struct ListUnsent: PostgresStatement {
    package static let name = "list_unsent"
    package static let sql = """
        SELECT event_id, is_waiting, is_planning, batches, is_more, deliveries, in_flight FROM fanfare.unsent($1)
        """

    package let events: [Int64]

    package init(events: [Int64]) {
        self.events = events
    }

    /// What is unsent of one event.
    package struct Row: Sendable {
        package let event: Int64
        /// Whether it was not planned yet.
        package let isWaiting: Bool
        /// Whether its audience is still being walked.
        package let isPlanning: Bool
        package let batches: Int64
        /// Whether there is more than this.
        package let isMore: Bool
        package let deliveries: Int64
        /// Those of the deliveries that a daemon has.
        package let inFlight: Int64
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(events)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            event: try row.int64(0),
            isWaiting: try row.bool(1),
            isPlanning: try row.bool(2),
            batches: try row.int64(3),
            isMore: try row.bool(4),
            deliveries: try row.int64(5),
            inFlight: try row.int64(6)
        )
    }
}
