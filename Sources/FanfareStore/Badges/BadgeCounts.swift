package import FanfareCore
package import PostgresClient

extension PostgresConnection {
    /// Runs a rule's `badge_sql` as `fanfare.badges` allows it: read-only and timed.
    ///
    /// - Parameters:
    ///   - sql: what the rule's author wrote.
    ///   - users: whose badges.
    ///   - milliseconds: what the query may take.
    /// - Returns: by user, in a transaction that the caller is to roll back; those are missing for whom it gave no row, NULL, or a
    ///   count that no provider can show.
    /// - Throws: what the query failed with; the caller is to roll back too.
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

    /// Rolls back, and forgets all that the session was told.
    package func startAnew() throws(PostgresError) {
        try execute("ROLLBACK")
        try execute("DISCARD ALL")
    }
}
