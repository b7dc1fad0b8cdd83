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

    /// Runs work as a database role inside a transaction, which goes on as the session's user; nil for that user.
    package func run<Result>(
        inTransactionAs role: String?,
        _ work: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        guard let role else { return try work(self) }
        try execute("SET LOCAL ROLE \(role)")
        let result = try work(self)
        try execute("RESET ROLE")
        return result
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
