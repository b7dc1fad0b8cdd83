package import PostgresClient

/// An event with its fate.
public struct EventReport: Sendable {
    /// The event's id.
    public let id: Int64
    /// The event's type.
    public let type: String
    /// The event's idempotency key, if any.
    public let key: String?
    package let createdAt: Timestamp
    /// The event's fate, such as `planned`.
    public let fate: String
    /// A readable explanation, if there is more to say.
    public let detail: String?
    /// The number of its deliveries.
    public let deliveries: Int64
    /// The id of its trace, if any: 32 hexadecimal digits.
    public let traceID: String?
}

extension SQL {
    /// Reads one event.
    ///
    /// Binds: id.
    package static let showEvent = Statement<EventReport, Int64>(
        "show_event",
        """
        SELECT id, type, key, created_at, fate, detail, deliveries, trace_id FROM fanfare.events WHERE id = $1
        """,
        row: EventReport.init
    )
}
