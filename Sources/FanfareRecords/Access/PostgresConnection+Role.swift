package import PostgresClient

extension PostgresConnection {
    /// Runs work as a database role, in any number of transactions.
    ///
    /// - Parameters:
    ///   - role: one of Fanfare's roles; the session's user must be a member of it.
    ///   - work: the work; must leave no transaction open.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws, and the server's error if it refuses the role. A session that cannot leave the
    ///   role is closed.
    package func run<Result>(
        as role: String,
        _ work: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        try execute("SET ROLE \(role)")
        defer { leaveRole() }
        return try work(self)
    }

    /// Runs work as a database role in one transaction, with optional steps as the session's user before and after it.
    ///
    /// - Parameters:
    ///   - role: one of Fanfare's roles; nil for the session's user.
    ///   - beforehand: a step as the session's user before `work`; if it returns a value, `work` is skipped and the
    ///     value returned.
    ///   - work: the work; must not begin or end a transaction.
    ///   - afterwards: a step as the session's user after `work`, with its result.
    /// - Returns: what `work` returns, or `beforehand`.
    /// - Throws: what the steps throw; the transaction is rolled back then.
    package func transaction<Result>(
        as role: String?,
        beforehand: (PostgresConnection) throws(PostgresError) -> Result? = { _ in nil },
        _ work: (PostgresConnection) throws(PostgresError) -> Result,
        afterwards: (PostgresConnection, Result) throws(PostgresError) -> Void
    ) throws(PostgresError) -> Result {
        try transaction { connection throws(PostgresError) in
            if let done = try beforehand(connection) { return done }
            if let role { try connection.execute("SET LOCAL ROLE \(role)") }
            let result = try work(connection)
            if role != nil { try connection.execute("RESET ROLE") }
            try afterwards(connection, result)
            return result
        }
    }

    private func leaveRole() {
        guard !isClosed else { return }
        do {
            try execute("RESET ROLE")
        } catch {
            close()
        }
    }
}
