package import PostgresClient

/// An event and what became of it.
public struct EventReport: Sendable {
    /// Its id.
    public let id: Int64
    /// Its type.
    public let type: String
    /// Its idempotency key, if any.
    public let key: String?
    package let createdAt: Timestamp
    /// What became of it, such as `planned`.
    public let fate: String
    /// Why, in words, if there is something to say.
    public let detail: String?
    /// How many deliveries it has.
    public let deliveries: Int64
    /// The id of the trace that it is a part of, if any: 32 hexadecimal digits.
    public let traceID: String?
}

/// One event.
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
