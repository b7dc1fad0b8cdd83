package import FanfareCore
package import PostgresClient

extension PostgresConnection {
    /// Runs a rule's `badge_sql` through `fanfare.badges`, read-only and with a timeout.
    ///
    /// - Parameters:
    ///   - sql: the author's query.
    ///   - users: the users whose badges to count.
    ///   - milliseconds: the query's timeout.
    /// - Returns: counts by user, in a transaction that the caller must roll back. Users without a row, or with NULL or
    ///   a count that no provider can show, are missing.
    /// - Throws: the query's error; the caller must roll back then, too.
    package func badgeCounts(
        _ sql: String,
        of users: [String],
        within milliseconds: Int
    ) throws(PostgresError) -> [ExactText: Int64] {
        try execute("BEGIN READ ONLY; SET LOCAL statement_timeout = \(milliseconds)")
        let table = try query(
            "SELECT user_id, badge FROM fanfare.badges($1, $2::text[])",
            sql,
            Self.arrayLiteral(users)
        )
        var counts: [ExactText: Int64] = [:]
        for row in table.rows {
            guard let user = row[0], let count = row[1].flatMap({ Int64($0) }), count >= 0 else { continue }
            counts[ExactText(user)] = min(count, Int64(Int32.max))
        }
        return counts
    }

    /// Rolls back and resets the session.
    package func startAnew() throws(PostgresError) {
        try execute("ROLLBACK")
        try execute("DISCARD ALL")
    }
}
