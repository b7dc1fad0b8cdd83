package import PostgresClient

/// The rows of a query that a campaign's author wrote, taken bit by bit on a session for such queries: read-only, timed, with
/// the rights of `fanfare_sql`.
///
/// The server keeps what is not taken yet on its disk: however many rows there are, this side has those of one bit in memory.
package struct QueryRows {
    /// How many users are taken at once.
    package static let users = 5_000
    /// How many payloads are: each may have 64 KiB.
    package static let payloads = 1_000

    private static let cursor = "fanfare_rows"

    private let connection: PostgresConnection
    private let count: Int

    /// Begins a transaction and declares the query, which is run when the first rows are taken.
    ///
    /// - Parameters:
    ///   - query: what it is.
    ///   - users: those that are wanted of an audience; nil for all.
    ///   - eventID: whose audience it is, which says in what order they come.
    ///   - connection: outside a transaction; left in one.
    ///   - milliseconds: what each bit may take.
    /// - Throws: what the server says.
    package init(
        of query: Reading.Query,
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
            count = Self.users
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
            // One shows what the message makes of them.
            count = users == nil ? Self.payloads : 1
            _ = try connection.query("\(declare) SELECT p FROM fanfare.payloads($1) AS p", sql)
        }
    }

    /// Takes the next rows.
    ///
    /// - Returns: their columns in text form; fewer than asked for, or none, at the end.
    /// - Throws: what the server says: at the first bit all that the query runs into.
    package func next() throws(PostgresError) -> [[String?]] {
        try connection.query("FETCH \(count) FROM \(Self.cursor)").rows
    }
}

extension PostgresConnection {
    /// Has the server look every second whether this side is still there, and end what it runs if not; on some systems it cannot.
    package func endWithItsClient() {
        try? execute("SET client_connection_check_interval = '1s'")
    }

    /// The text form of a `text[]`.
    static func arrayLiteral(_ elements: [String]) -> String {
        let quoted = elements.map { element in
            "\"" + element.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
        }
        return "{" + quoted.joined(separator: ",") + "}"
    }
}
