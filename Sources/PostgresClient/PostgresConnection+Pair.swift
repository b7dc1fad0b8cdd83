internal import CPostgres

/// Two statements in one round trip, by libpq's pipeline mode.
extension PostgresConnection {
    /// Runs two prepared statements, sent together, and decodes the rows of both.
    ///
    /// Outside a transaction block both form one implicit transaction, and the second is not run if the first fails.
    /// Otherwise as ``run(_:)``.
    ///
    /// - Parameters:
    ///   - first: the first statement.
    ///   - second: the second statement.
    /// - Returns: the rows of both, in order.
    /// - Throws: the error of the server or a decoder.
    public func run<First: BoundStatement, Second: BoundStatement>(
        _ first: First,
        _ second: Second
    ) throws(PostgresError) -> ([First.Row], [Second.Row]) {
        let pair: PostgresResultPair
        do {
            pair = try performPair(first, second)
        } catch {
            guard error.isStalePlan else { throw error }
            prepared.forget(first.name)
            prepared.forget(second.name)
            guard !isInTransaction else { throw error }
            pair = try performPair(first, second)
        }
        return (try pair.first.rows(of: first), try pair.second.rows(of: second))
    }

    /// Runs `body` in a transaction that begins in the same round trip as its first statement.
    ///
    /// Otherwise as ``transaction(_:)``.
    ///
    /// - Parameters:
    ///   - statement: the first statement.
    ///   - body: receives its rows; must not begin or end a transaction itself.
    /// - Returns: the result of `body`.
    /// - Throws: the error of `body`, and those of BEGIN, the statement or COMMIT.
    public func transaction<Statement: BoundStatement, Result>(
        beginningWith statement: Statement,
        _ body: (PostgresConnection, [Statement.Row]) throws(PostgresError) -> Result
    ) throws(PostgresError) -> Result {
        precondition(!isInTransaction, "transactions do not nest")
        let result: Result
        do {
            let (_, rows) = try run(Begin(), statement)
            result = try body(self, rows)
        } catch {
            rollback()
            throw error
        }
        try commit()
        return result
    }

    private func performPair<First: BoundStatement, Second: BoundStatement>(
        _ first: First,
        _ second: Second
    ) throws(PostgresError) -> PostgresResultPair {
        let names = (try bindAndPrepare(first), try bindAndPrepare(second))
        return try unsafe exchangePair(statements: (first.name, second.name)) { handle in
            guard unsafe send(first, as: names.0, on: handle) == 1 else { return 0 }
            return unsafe send(second, as: names.1, on: handle)
        }
    }

    /// Prepares a statement unless this session has it; cannot be done inside the pipeline.
    private func bindAndPrepare(_ statement: some BoundStatement) throws(PostgresError) -> String {
        binds.removeAll()
        statement.bind(to: &binds)
        return try prepare(statement)
    }

    private func send(_ statement: some BoundStatement, as name: String, on handle: OpaquePointer) -> Int32 {
        binds.removeAll()
        statement.bind(to: &binds)
        return unsafe binds.withPointers { values, lengths, formats, count in
            unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
        }
    }
}

/// Two results, each with one owner.
struct PostgresResultPair: ~Copyable {
    let first: PostgresResult
    let second: PostgresResult
}

/// The BEGIN that opens a transaction.
private struct Begin: PostgresStatement {
    typealias Row = Void
    static let name = "begin"
    static let sql = "BEGIN"
}
