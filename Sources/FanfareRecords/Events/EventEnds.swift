package import PostgresClient

/// Counts each outcome for each of some events, as far as a list needs.
package struct EventEnds: PostgresStatement {
    package static let name = "event_ends"
    package static let sql = "SELECT event_id, outcome, reason, deliveries, is_part FROM fanfare.event_ends($1)"

    package let events: [Int64]

    package init(of events: [Int64]) {
        self.events = events
    }

    /// The count of one outcome of one event.
    package struct Row: Sendable {
        package let event: Int64
        /// The outcome, from `fanfare.outcome_codes`, or `gathered`.
        package let outcome: String
        package let reason: String
        package let deliveries: Int64
        /// Whether the event has more pushes than were counted.
        package let isPart: Bool
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(events)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            event: try row.int64(0),
            outcome: try row.string(1),
            reason: try row.string(2),
            deliveries: try row.int64(3),
            isPart: try row.bool(4)
        )
    }
}

/// Counts the events that no daemon has planned yet.
package struct UnplannedEvents: PostgresStatement {
    package static let name = "unplanned_events"
    package static let sql = "SELECT events, oldest, is_more FROM fanfare.unplanned()"

    package init() {}

    /// The counts.
    package struct Row: Sendable {
        package let events: Int64
        /// When the oldest was emitted; nil if there is none.
        package let oldest: Timestamp?
        /// Whether there are more than were counted.
        package let isMore: Bool
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(events: try row.int64(0), oldest: try row.timestamp(orNil: 1), isMore: try row.bool(2))
    }
}
