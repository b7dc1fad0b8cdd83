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

extension SQL {
    /// Reads the backlog by target, lane and gate, without counting all of it.
    package static let listBacklog = Statement<BacklogRow>(
        "list_backlog",
        """
        SELECT app, provider, environment, lane, gate_id, is_retry, batches, is_more, deliveries, due_batches, next_at, oldest
        FROM fanfare.backlog()
        """,
        row: BacklogRow.init
    )
}

/// The unsent part of one event.
package struct ListUnsentRow: Sendable {
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

extension SQL {
    /// Reads what a cancellation of some events would still stop.
    ///
    /// Binds: events.
    package static let listUnsent = Statement<ListUnsentRow, [Int64]>(
        "list_unsent",
        """
        SELECT event_id, is_waiting, is_planning, batches, is_more, deliveries, in_flight FROM fanfare.unsent($1)
        """,
        row: ListUnsentRow.init
    )
}
