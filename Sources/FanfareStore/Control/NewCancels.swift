internal import FanfareCore
package import PostgresClient

/// A stored cancellation.
package struct CancelFact: Equatable, Sendable {
    package let id: Int64
    package let eventID: Int64?
    package let type: String?
    package let key: String?
    package let createdAt: Timestamp
    /// A number from the sequence of events.
    package let number: Int64
    /// Whether it takes its event back, which the outcome says.
    package var takesBack = false

    /// Whether an event with its key was emitted before it.
    package func reaches(_ event: EventRow) -> Bool {
        !EventID(rawValue: event.id).isEmitted(after: number)
    }

    /// Whether it was stored after another, and so stops more events with its key.
    package func isLater(than other: CancelFact) -> Bool {
        number != other.number && EventID(rawValue: number).isEmitted(after: other.number)
    }
}

/// Reads cancellations that became visible since the last query, each once.
///
/// A long transaction does not make any of them appear twice. Rows that were restored from a server with higher
/// transaction ids do not appear as long as these ids are in this server's future; a claimer that fetches such an event
/// still sees the cancellation (``FetchEvents``).
package struct NewCancels: PostgresStatement {
    package static let name = "new_cancels"
    package static let sql = """
        SELECT look.at::text, c.id, c.event_id, c.type, c.key, c.created_at, c.event_number, c.taken_back
        FROM (SELECT pg_current_snapshot() AS at) AS look
        LEFT JOIN fanfare.cancels AS c ON \(SQL.isNewSQL("c.xid", since: "$1"))
        """

    /// The snapshot of the last query; nil to begin with cancellations from now on.
    package let since: String?

    package init(since: String?) {
        self.since = since
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(since)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (seen: String, fact: CancelFact?)
    {
        let seen = try row.string(0)
        guard let id = try row.int64(orNil: 1) else { return (seen, nil) }
        return (
            seen,
            CancelFact(
                id: id,
                eventID: try row.int64(orNil: 2),
                type: try row.string(orNil: 3),
                key: try row.string(orNil: 4),
                createdAt: try row.timestamp(5),
                number: try row.int64(6),
                takesBack: try row.bool(7)
            )
        )
    }
}
