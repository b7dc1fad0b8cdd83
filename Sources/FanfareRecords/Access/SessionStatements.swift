package import PostgresClient

/// Ends a session of the console, and deletes ended sessions that would have expired by now.
package struct EndSession: PostgresStatement {
    package static let name = "end_session"
    package static let sql = """
        WITH forgotten AS (
            DELETE FROM fanfare.ended_sessions WHERE ends_at < clock_timestamp()
        )
        INSERT INTO fanfare.ended_sessions (id, ends_at) VALUES ($1, to_timestamp($2)) ON CONFLICT DO NOTHING
        """

    package let id: Int64
    /// The session's expiry, in seconds since 1970.
    package let end: Int64

    package init(id: Int64, end: Int64) {
        (self.id, self.end) = (id, end)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(id)
        binds.append(Double(end))
    }
}

/// Whether a session was ended by logging out.
package struct IsSessionEnded: PostgresStatement {
    package static let name = "is_session_ended"
    package static let sql = "SELECT EXISTS (SELECT FROM fanfare.ended_sessions WHERE id = $1)"

    package let id: Int64

    package init(id: Int64) {
        self.id = id
    }

    package func bind(to binds: inout PostgresBinds) { binds.append(id) }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
