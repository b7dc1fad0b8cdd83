package import PostgresClient

/// Users that a query named.
package struct UsersBySQL: Equatable, Sendable {
    /// Each once, as PostgreSQL writes an array.
    package let array: String
    package let count: Int64
}

extension PostgresConnection {
    /// Runs a rule's `users_sql` as `fanfare.users_by_sql` allows it: read-only and timed.
    ///
    /// - Parameters:
    ///   - sql: what the rule's author wrote.
    ///   - payload: the event's, as JSON text.
    ///   - milliseconds: what the query may take.
    /// - Returns: the users, in a transaction that the caller is to roll back.
    /// - Throws: what the query failed with; the caller is to roll back too.
    package func usersBySQL(
        _ sql: String,
        payload: String,
        within milliseconds: Int
    ) throws(PostgresError) -> UsersBySQL {
        try execute("BEGIN READ ONLY; SET LOCAL statement_timeout = \(milliseconds)")
        let table = try query(
            "SELECT u.ids, cardinality(u.ids) FROM fanfare.users_by_sql($1, $2::jsonb) AS u (ids)",
            sql,
            payload
        )
        let row = table.rows.first ?? []
        return UsersBySQL(
            array: row.first.flatMap(\.self) ?? "{}",
            count: row.last.flatMap(\.self).flatMap { Int64($0) } ?? 0
        )
    }
}
