extension PostgresConnection {
    /// Runs `body` in a transaction: committed when it returns, rolled back when it throws.
    ///
    /// Cannot be nested. If the connection is lost during COMMIT, whether it took effect is unknown.
    ///
    /// - Parameter body: must not begin or end a transaction itself.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`, and those of BEGIN or COMMIT; 25P02 if `body` ignored a statement's error, since
    ///   everything was then rolled back.
    public func transaction<Result>(
        _ body: (PostgresConnection) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        try begin()
        let result: Result
        do {
            result = try body(self)
        } catch {
            rollback()
            throw error
        }
        try commit()
        return result
    }

    /// Like ``transaction(_:)``, for a body that throws errors of several types.
    ///
    /// - Parameter body: must not begin or end a transaction itself.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`, and `PostgresError` from BEGIN or COMMIT.
    public func transaction<Result>(throwingAny body: (PostgresConnection) throws -> Result) throws -> Result {
        try begin()
        let result: Result
        do {
            result = try body(self)
        } catch {
            rollback()
            throw error
        }
        try commit()
        return result
    }

    private func begin() throws(PostgresError) {
        precondition(!isInTransaction, "transactions do not nest")
        try execute("BEGIN")
    }

    func commit() throws(PostgresError) {
        // PostgreSQL answers the COMMIT of a failed transaction with success and the tag ROLLBACK.
        let tag = try query("COMMIT").commandTag
        guard tag == "COMMIT" else {
            throw PostgresError(
                .server,
                sqlState: "25P02",
                message: "the transaction was rolled back because a statement in it had failed"
            )
        }
    }

    /// Rolls back, or closes the connection if ROLLBACK fails, which has the same effect.
    func rollback() {
        guard isInTransaction else { return }
        do {
            try execute("ROLLBACK")
        } catch {
            close()
        }
    }
}
