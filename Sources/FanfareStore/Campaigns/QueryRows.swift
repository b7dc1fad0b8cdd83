package import PostgresClient

/// The rows of a query that a campaign's author wrote, taken bit by bit on a session for such queries: read-only, timed, with
/// the rights of `fanfare_sql`.
///
/// The server keeps what is not taken yet on its disk: however many rows there are, this side has those of one bit in memory. No row
/// is wider than `fanfare.audience` and `fanfare.payloads` allow, and of wide ones fewer are taken at once.
package struct QueryRows {
    /// How many users are taken at once, at most: one has up to 6 KiB.
    package static let users = 5_000
    /// How many payloads are: one has up to 64 KiB.
    package static let payloads = 250
    /// How many bytes of rows are taken at once, if the next are as wide as the last.
    private static let bytes = 2_097_152

    private static let cursor = "fanfare_rows"

    private let connection: PostgresConnection
    private let most: Int
    private var count: Int

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
            // One shows what the message makes of them.
            most = users == nil ? Self.payloads : 1
            _ = try connection.query("\(declare) SELECT p FROM fanfare.payloads($1) AS p", sql)
        }
        // What is wide shows in the first ones.
        count = max(1, most / 20)
    }

    /// Takes the next rows.
    ///
    /// - Returns: their columns in text form; none at the end.
    /// - Throws: what the server says: at the first bit all that the query runs into.
    package mutating func next() throws(PostgresError) -> [[String?]] {
        let rows = try connection.query("FETCH \(count) FROM \(Self.cursor)").rows
        let widest = rows.reduce(1) { max($0, $1.reduce(0) { $0 + ($1?.utf8.count ?? 0) }) }
        count = min(most, max(1, Self.bytes / widest))
        return rows
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
