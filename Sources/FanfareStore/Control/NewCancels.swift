internal import FanfareCore
package import PostgresClient

/// A cancellation that was asked for.
package struct CancelFact: Equatable, Sendable {
    package let id: Int64
    package let eventID: Int64?
    package let type: String?
    package let key: String?
    package let createdAt: Timestamp
    /// From the sequence of events.
    package let number: Int64

    /// Whether an event under its key was emitted before it.
    package func reaches(_ event: EventRow) -> Bool {
        !EventID(rawValue: event.id).isEmitted(after: number)
    }

    /// Whether it stops more events under its key than another.
    package func isLater(than other: CancelFact) -> Bool {
        number != other.number && EventID(rawValue: number).isEmitted(after: other.number)
    }
}

/// Cancellations that became visible since the last look, each of them once.
///
/// A transaction that long stays open makes nothing come twice. What came with a dump from a server that was further on with
/// its transaction ids is no news for as long as they lie in the future here; whoever fetches its event sees it
/// (``FetchEvents``).
package struct NewCancels: PostgresStatement {
    package static let name = "new_cancels"
    package static let sql = """
        SELECT look.at::text, c.id, c.event_id, c.type, c.key, c.created_at, c.event_number
        FROM (SELECT pg_current_snapshot() AS at) AS look
        LEFT JOIN fanfare.cancels AS c ON c.xid >= pg_snapshot_xmin($1::text::pg_snapshot)
            AND c.xid < pg_snapshot_xmax(look.at) AND NOT pg_visible_in_snapshot(c.xid, $1::text::pg_snapshot)
        """

    /// What the last look saw; nil for none, to begin with what comes from now on.
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
                number: try row.int64(6)
            )
        )
    }
}
