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

/// Reads one event.
package struct ShowEvent: PostgresStatement {
    package static let name = "show_event"
    package static let sql = """
        SELECT id, type, key, created_at, fate, detail, deliveries, trace_id FROM fanfare.events WHERE id = $1
        """

    package let id: Int64

    package init(id: Int64) {
        self.id = id
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> EventReport {
        EventReport(
            id: try row.int64(0),
            type: try row.string(1),
            key: try row.string(orNil: 2),
            createdAt: try row.timestamp(3),
            fate: try row.string(4),
            detail: try row.string(orNil: 5),
            deliveries: try row.int64(6),
            traceID: try row.string(orNil: 7)
        )
    }
}
