package import PostgresClient

/// Sample rows of campaigns' queries, which run as in a query run and are stopped after the first row; in a read-only
/// session only.
package enum CampaignSamples {
    private static let recipientSQL = """
        SELECT a.user_id, a.variables::text
        FROM fanfare.audience(CASE WHEN $2::text IS NULL
            THEN format(E'SELECT * FROM (%s\\n) AS s LIMIT 1', rtrim($1::text, E'; \\t\\r\\n'))
            ELSE format(E'SELECT * FROM (%s\\n) AS s (id) WHERE s.id::text = %L LIMIT 1', rtrim($1, E'; \\t\\r\\n'), $2) END, '') AS a
        LIMIT 1
        """
    private static let payloadSQL = """
        SELECT p::text FROM fanfare.payloads(format(E'SELECT * FROM (%s\\n) AS s LIMIT 1', rtrim($1::text, E'; \\t\\r\\n'))) AS p LIMIT 1
        """

    /// Returns a row of an `audience_sql`.
    ///
    /// - Parameters:
    ///   - query: the campaign's query.
    ///   - user: the user whose row is wanted; nil for any.
    ///   - connection: a read-only session whose statement timeout the caller has set.
    /// - Returns: the user, and a JSON object with the user's variables; nil if the query returns no user.
    /// - Throws: the database's error.
    package static func recipient(
        of query: String,
        user: String?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> (user: String?, variables: String?)? {
        try connection.query(recipientSQL, binds: [query, user]).rows.first.map { ($0[0], $0[1]) }
    }

    /// Returns a row of a `payload_sql`.
    ///
    /// - Parameters:
    ///   - query: the campaign's query.
    ///   - connection: a read-only session whose statement timeout the caller has set.
    /// - Returns: a JSON object; nil if the query returns no row.
    /// - Throws: the database's error.
    package static func payload(
        of query: String,
        on connection: PostgresConnection
    ) throws(PostgresError) -> String? {
        try connection.query(payloadSQL, binds: [query]).rows.first?[0]
    }
}
