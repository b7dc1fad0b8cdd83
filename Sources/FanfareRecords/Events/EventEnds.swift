package import PostgresClient

/// The count of one outcome of one event.
package struct EventEndsRow: Sendable {
    package let event: Int64
    /// The outcome, from `fanfare.outcome_codes`, or `gathered`.
    package let outcome: String
    package let reason: String
    package let deliveries: Int64
    /// Whether the event has more pushes than were counted.
    package let isPart: Bool
}

extension SQL {
    /// Counts each outcome for each of some events, as far as a list needs.
    ///
    /// Binds: events.
    package static let eventEnds = Statement<EventEndsRow, [Int64]>(
        "event_ends",
        "SELECT event_id, outcome, reason, deliveries, is_part FROM fanfare.event_ends($1)",
        row: EventEndsRow.init
    )
}

/// The counts.
package struct UnplannedEventsRow: Sendable {
    package let events: Int64
    /// When the oldest was emitted; nil if there is none.
    package let oldest: Timestamp?
    /// Whether there are more than were counted.
    package let isMore: Bool
}

extension SQL {
    /// Counts the events that no daemon has planned yet.
    package static let unplannedEvents = Statement<UnplannedEventsRow>(
        "unplanned_events",
        "SELECT events, oldest, is_more FROM fanfare.unplanned()",
        row: UnplannedEventsRow.init
    )
}
