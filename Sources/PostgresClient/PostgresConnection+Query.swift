internal import CPostgres

/// The result of an ad-hoc query, in text form.
public struct PostgresTable: Sendable {
    /// The columns' names, in order.
    public let columns: [String]
    /// The rows; nil is NULL.
    public let rows: [[String?]]
    /// The command's tag, such as `SELECT 3` or `CREATE TABLE`.
    public let commandTag: String
}

extension PostgresConnection {
    /// Runs SQL by the simple protocol: several statements, one implicit transaction, rows dropped.
    ///
    /// - Parameter sql: trusted text; parameters are not possible.
    /// - Throws: the first error; earlier statements of the same string are rolled back, unless the string has
    ///   transaction commands of its own.
    public func execute(_ sql: String) throws(PostgresError) {
        _ = try unsafe exchange { unsafe PQsendQuery($0, sql) }
    }

    /// Runs one ad-hoc statement and returns text.
    ///
    /// - Parameters:
    ///   - sql: one statement; the server infers the parameters' types.
    ///   - binds: `$1`, `$2` … in text form; nil is NULL.
    /// - Returns: the rows, all of them in memory.
    /// - Throws: the server's error.
    public func query(_ sql: String, _ binds: String?...) throws(PostgresError) -> PostgresTable {
        try query(sql, binds: binds)
    }

    /// Runs one ad-hoc statement and returns text.
    ///
    /// - Parameters:
    ///   - sql: one statement; the server infers the parameters' types.
    ///   - binds: `$1`, `$2` … in text form; nil is NULL.
    /// - Returns: the rows, all of them in memory.
    /// - Throws: the server's error.
    public func query(_ sql: String, binds: [String?]) throws(PostgresError) -> PostgresTable {
        if let index = binds.firstIndex(where: { $0?.utf8.contains(0) ?? false }) {
            throw PostgresError(
                .protocolMismatch,
                message: "bind $\(index + 1) contains U+0000, which text cannot hold"
            )
        }
        let result = try unsafe exchange { handle in
            unsafe withCStrings(binds) { values in
                unsafe PQsendQueryParams(handle, sql, Int32(binds.count), nil, values, nil, nil, 0)
            }
        }
        let columns = (0..<result.columnCount).map { result.columnName($0) }
        var rows: [[String?]] = []
        for row in 0..<result.rowCount {
            rows.append(columns.indices.map { result.text(row: row, column: $0) })
        }
        return PostgresTable(columns: columns, rows: rows, commandTag: result.commandTag)
    }

    /// Quotes a name for use in SQL text.
    ///
    /// - Parameter name: the name of a table, channel, database …
    /// - Returns: the name in double quotes.
    /// - Throws: `connectionLost` after `close()`, `protocolMismatch` for a name that is not valid UTF-8 to the server.
    public func quoteIdentifier(_ name: String) throws(PostgresError) -> String {
        let handle = try unsafe requireHandle()
        guard let quoted = unsafe PQescapeIdentifier(handle, name, name.utf8.count) else {
            throw PostgresError(.protocolMismatch, message: "a name could not be quoted")
        }
        defer { unsafe PQfreemem(quoted) }
        return unsafe String(cString: quoted)
    }
}
