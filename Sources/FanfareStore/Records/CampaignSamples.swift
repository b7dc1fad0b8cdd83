package import PostgresClient

/// Rows of campaigns' queries, which are run as when they fire and ended after their first row; in a read-only session only.
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

    /// A row of an `audience_sql`.
    ///
    /// - Parameters:
    ///   - query: the campaign's.
    ///   - user: whose row; nil for any.
    ///   - connection: a read-only session on which the caller has limited how long a statement may take.
    /// - Returns: the user, and a JSON object with what the query says of that user; nil where it names nobody.
    /// - Throws: what the database says.
    package static func recipient(
        of query: String,
        user: String?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> (user: String?, variables: String?)? {
        try connection.query(recipientSQL, binds: [query, user]).rows.first.map { ($0[0], $0[1]) }
    }

    /// A row of a `payload_sql`.
    ///
    /// - Parameters:
    ///   - query: the campaign's.
    ///   - connection: a read-only session on which the caller has limited how long a statement may take.
    /// - Returns: a JSON object; nil where the query gives no row.
    /// - Throws: what the database says.
    package static func payload(
        of query: String,
        on connection: PostgresConnection
    ) throws(PostgresError) -> String? {
        try connection.query(payloadSQL, binds: [query]).rows.first?[0]
    }
}
