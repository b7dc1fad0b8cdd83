import PostgresClient

extension PostgresConnection {
    /// Returns the first column of the first row.
    func text(_ sql: String, _ binds: String?...) throws -> String? {
        try query(sql, binds: binds).rows.first?.first ?? nil
    }

    /// Returns the first column of the first row as a number.
    func number(_ sql: String, _ binds: String?...) throws -> Int64 {
        let text = try query(sql, binds: binds).rows.first?.first ?? nil
        guard let number = text.flatMap({ Int64($0) }) else { throw NoNumber(sql: sql, text: text) }
        return number
    }

    /// Returns the first column of all rows; NULL as `NULL`.
    func column(_ sql: String, _ binds: String?...) throws -> [String] {
        try query(sql, binds: binds).rows.map { $0[0] ?? "NULL" }
    }

    /// Returns the error of SQL; nil if it succeeds.
    func refusal(_ sql: String) -> PostgresError? {
        do throws(PostgresError) {
            try execute(sql)
            return nil
        } catch {
            return error
        }
    }

    /// Blocks until the query returns `t`; the server does the waiting, in steps of 5 ms.
    ///
    /// - Throws: an error after the time limit.
    func waitUntil(_ sql: String, seconds: Int = 90) throws {
        let patience = ContinuousClock.now + .seconds(seconds)
        while try query(sql).rows != [["t"]] {
            guard ContinuousClock.now < patience else { throw NeverTrue(sql: sql) }
            try execute("SELECT pg_catalog.pg_sleep(0.005)")
        }
    }
}

private struct NoNumber: Error {
    let sql: String
    let text: String?
}

private struct NeverTrue: Error {
    let sql: String
}
