package import PostgresClient

extension PostgresConnection {
    /// Works as a database role, in as many transactions as it takes.
    ///
    /// - Parameters:
    ///   - role: one of Fanfare's own, of which the session's user is a member.
    ///   - work: what to do; leaves no transaction open.
    /// - Returns: what `work` returns.
    /// - Throws: what `work` throws, and the server's refusal of the role. A session that cannot leave it is closed.
    package func run<Result>(
        as role: String,
        _ work: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        try execute("SET ROLE \(role)")
        defer { leaveRole() }
        return try work(self)
    }

    /// Works as a database role in one transaction, and does something about it as the session's user before it is committed.
    ///
    /// - Parameters:
    ///   - role: one of Fanfare's own; nil for the session's user.
    ///   - beforehand: what the role may not do, and comes first; what it returns, if not nil, is all there is to do.
    ///   - work: what to do; must not begin or end a transaction itself.
    ///   - afterwards: what the role may not do; gets what `work` returned.
    /// - Returns: what `work` returns.
    /// - Throws: what they throw; nothing has changed then.
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
