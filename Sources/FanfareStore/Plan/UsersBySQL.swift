package import PostgresClient

/// The users that a query returned.
package struct UsersBySQL: Equatable, Sendable {
    /// The users, each once, as a PostgreSQL array literal.
    package let array: String
    package let count: Int64
}

extension PostgresConnection {
    /// Runs a rule's `users_sql` through `fanfare.users_by_sql`, read-only and with a timeout.
    ///
    /// - Parameters:
    ///   - sql: the author's query.
    ///   - payload: the event's payload as JSON text.
    ///   - milliseconds: the query's timeout.
    /// - Returns: the users, in a transaction that the caller must roll back.
    /// - Throws: the query's error; the caller must roll back then, too.
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
