package import PostgresClient

/// The rows of a campaign author's query, fetched in parts on a session for such queries: read-only, with a timeout and
/// the rights of `fanfare_sql`.
///
/// The server spools rows that are not fetched yet to disk, so the daemon holds only one part in memory.
/// `fanfare.audience` and `fanfare.payloads` limit the width of a row, and fewer wide rows are fetched at once.
package struct QueryRows {
    /// The most users fetched at once; one has up to 6 KiB.
    package static let users = 5_000
    /// The most payloads fetched at once; one has up to 64 KiB.
    package static let payloads = 250
    /// The target size of a part in bytes, if the next rows are as wide as the last.
    private static let bytes = 2_097_152

    private static let cursor = "fanfare_rows"

    private let connection: PostgresConnection
    private let most: Int
    private var count: Int

    /// Begins a transaction and declares a cursor; the query runs when the first rows are fetched.
    ///
    /// - Parameters:
    ///   - query: the query.
    ///   - users: the users wanted from an audience; nil for all.
    ///   - eventID: the event of the audience, whose id determines their order.
    ///   - connection: a connection outside a transaction; it is inside one afterwards.
    ///   - milliseconds: the timeout of each fetch.
    /// - Throws: the server's error.
    package init(
        of query: QueryRun.Query,
        for users: [String]?,
        eventID: Int64,
        on connection: PostgresConnection,
        within milliseconds: Int
    ) throws(PostgresError) {
        self.connection = connection
        try connection.execute("BEGIN READ ONLY; SET LOCAL statement_timeout = \(milliseconds)")
        let declare = "DECLARE \(Self.cursor) NO SCROLL CURSOR FOR"
        switch query {
        case .audience(let sql):
            most = Self.users
            _ = try connection.query(
                """
                \(declare) SELECT a.bucket, a.user_id, a.variables
                FROM fanfare.audience($1, fanfare.audience_seed($2::bigint)) AS a
                WHERE $3::text[] IS NULL OR a.user_id IS NULL OR a.user_id = ANY ($3)
                """,
                sql,
                String(eventID),
                users.map(PostgresConnection.arrayLiteral)
            )
        case .payloads(let sql):
            // A test needs only one payload.
            most = users == nil ? Self.payloads : 1
            _ = try connection.query("\(declare) SELECT p FROM fanfare.payloads($1) AS p", sql)
        }
        // The first rows show how wide rows are.
        count = max(1, most / 20)
    }

    /// Fetches the next rows.
    ///
    /// - Returns: the rows' columns in text form; empty at the end.
    /// - Throws: the server's error; the first fetch raises the query's own errors.
    package mutating func next() throws(PostgresError) -> [[String?]] {
        let rows = try connection.query("FETCH \(count) FROM \(Self.cursor)").rows
        let widest = rows.reduce(1) { max($0, $1.reduce(0) { $0 + ($1?.utf8.count ?? 0) }) }
        count = min(most, max(1, Self.bytes / widest))
        return rows
    }
}

extension PostgresConnection {
    /// Makes the server check every second whether the client is still connected, and cancel the query if it is not.
    ///
    /// Some systems do not support this.
    package func endWithItsClient() {
        try? execute("SET client_connection_check_interval = '1s'")
    }

    /// Returns the text form of a `text[]`.
    static func arrayLiteral(_ elements: [String]) -> String {
        let quoted = elements.map { element in
            "\"" + element.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        return "{" + quoted.joined(separator: ",") + "}"
    }
}
