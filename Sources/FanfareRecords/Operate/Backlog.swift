package import PostgresClient

/// An estimate of what waits to be claimed for one target, lane and gate.
package struct BacklogRow: Sendable {
    package let app: String
    package let provider: String
    package let environment: String
    package let lane: Int16
    /// The gate; 0 for none.
    package let gateID: Int32
    package let isRetry: Bool
    package let batches: Int64
    /// Whether there are more batches than were counted.
    package let isMore: Bool
    /// The deliveries, extrapolated from the first fifty batches.
    package let deliveries: Int64
    /// The number of these batches that are due.
    package let dueBatches: Int64
    package let nextAt: Timestamp
    /// When the oldest of the first fifty was planned.
    package let oldest: Timestamp
}

/// Reads the backlog by target, lane and gate, without counting all of it.
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

/// Reads what a cancellation of some events would still stop.
package struct ListUnsent: PostgresStatement {
    package static let name = "list_unsent"
    package static let sql = """
        SELECT event_id, is_waiting, is_planning, batches, is_more, deliveries, in_flight FROM fanfare.unsent($1)
        """

    package let events: [Int64]

    package init(events: [Int64]) {
        self.events = events
    }

    /// The unsent part of one event.
    package struct Row: Sendable {
        package let event: Int64
        /// Whether the event is not planned yet.
        package let isWaiting: Bool
        /// Whether its audience is still being expanded.
        package let isPlanning: Bool
        package let batches: Int64
        /// Whether there may be more than this.
        package let isMore: Bool
        package let deliveries: Int64
        /// The deliveries that a daemon has claimed.
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
