internal import CPostgres

extension PostgresConnection {
    /// Runs a prepared statement and decodes its rows.
    ///
    /// Prepares it first if this session has not. If the session lost it (`DISCARD ALL`) or the shape of its result
    /// changed (a migration), it is prepared again and run once more, except inside a transaction, where the error ends
    /// the transaction and the next one works.
    ///
    /// - Parameter statement: the statement.
    /// - Returns: the decoded rows, in order.
    /// - Throws: the error of the server or the decoder.
    public func run<Statement: BoundStatement>(
        _ statement: Statement
    ) throws(PostgresError) -> [Statement.Row] {
        try perform(statement).rows(of: statement)
    }

    /// Runs a prepared statement and ignores its rows.
    ///
    /// - Parameter statement: the statement.
    /// - Throws: the server's error.
    public func run<Statement: BoundStatement>(
        _ statement: Statement
    ) throws(PostgresError) where Statement.Row == Void {
        _ = try perform(statement)
    }

    /// Runs a prepared statement and returns the number of rows that its last command affected.
    ///
    /// - Parameter statement: the statement; the rows it returns are dropped.
    /// - Returns: the number of rows inserted, updated, deleted or selected.
    /// - Throws: the server's error.
    public func runReturningCount(_ statement: some BoundStatement) throws(PostgresError) -> Int {
        try perform(statement).affectedRowCount
    }

    /// Binds, prepares if needed, and executes.
    func perform(_ statement: some BoundStatement) throws(PostgresError) -> PostgresResult {
        binds.removeAll()
        statement.bind(to: &binds)
        do {
            return try executePrepared(statement)
        } catch {
            guard error.isStalePlan else { throw error }
            prepared.forget(statement.name)
            guard !isInTransaction else { throw error }
            return try executePrepared(statement)
        }
    }

    private func executePrepared(_ statement: some BoundStatement) throws(PostgresError) -> PostgresResult {
        let name = try prepare(statement)
        return try unsafe exchange(statement: statement.name) { handle in
            unsafe binds.withPointers { values, lengths, formats, count in
                unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
            }
        }
    }

    /// Prepares a statement, whose values are in `binds`, unless this session has it.
    ///
    /// - Returns: the name it has in this session.
    func prepare(_ statement: some BoundStatement) throws(PostgresError) -> String {
        let (name, sql) = (statement.name, statement.sql)
        if let known = prepared.name(of: name, sql, parameters: binds.parameters) { return known }
        let newName = prepared.newName(of: name)
        let types = binds.parameters.map { Oid($0.type.rawValue) }
        _ = try unsafe exchange(statement: name) { handle in
            unsafe types.withUnsafeBufferPointer { types in
                unsafe PQsendPrepare(handle, newName, sql, Int32(types.count), types.baseAddress)
            }
        }
        prepared.add(name, sql, parameters: binds.parameters)
        return newName
    }

    /// Whether a transaction block is open, including a failed one.
    var isInTransaction: Bool {
        guard let handle = try? unsafe requireHandle() else { return false }
        let status = unsafe PQtransactionStatus(handle)
        return status == PQTRANS_INTRANS || status == PQTRANS_INERROR
    }
}

extension PostgresResult {
    /// Decodes all rows, in order.
    func rows<Statement: BoundStatement>(of statement: Statement) throws(PostgresError) -> [Statement.Row] {
        var rows: [Statement.Row] = []
        rows.reserveCapacity(rowCount)
        for index in 0..<rowCount { rows.append(try statement.decode(row(index))) }
        return rows
    }
}

extension PostgresError {
    /// Whether the session lost the statement (26000), or its plan's result changed shape (0A000, plancache.c).
    var isStalePlan: Bool {
        sqlState == "26000" || (sqlState == "0A000" && message == "cached plan must not change result type")
    }
}

/// The statements that one session has prepared.
struct PreparedStatements {
    private struct Entry {
        let sql: String
        let serverName: String
        let types: [PostgresType]
    }

    private var entries: [String: Entry] = [:]
    /// How often a statement was prepared again; each time it gets a new name, as the old one may still exist.
    private var generations: [String: Int] = [:]

    /// Returns the name under which the session has the statement; nil if it must be prepared.
    ///
    /// Traps if two statements share a name or one changes the types of its binds, because values would be misread.
    func name(of name: String, _ sql: String, parameters: [PostgresBinds.Parameter]) -> String? {
        guard let entry = entries[name] else { return nil }
        precondition(entry.sql == sql, "two statements are named \(name)")
        precondition(
            entry.types.elementsEqual(parameters, by: { $0 == $1.type }),
            "statement \(name) changed the types of its binds"
        )
        return entry.serverName
    }

    func newName(of name: String) -> String {
        let generation = generations[name, default: 0]
        return generation == 0 ? name : "\(name)#\(generation)"
    }

    mutating func add(_ name: String, _ sql: String, parameters: [PostgresBinds.Parameter]) {
        entries[name] = Entry(sql: sql, serverName: newName(of: name), types: parameters.map(\.type))
    }

    mutating func forget(_ name: String) {
        entries[name] = nil
        generations[name, default: 0] += 1
    }
}

extension PostgresBinds {
    /// Passes the parameters in libpq's form: values, lengths, formats (all binary), count.
    func withPointers(
        _ body: (
            UnsafePointer<UnsafePointer<CChar>?>?, UnsafePointer<Int32>?, UnsafePointer<Int32>?, Int32
        ) -> Int32
    ) -> Int32 {
        let count = parameters.count
        return unsafe withUnsafeTemporaryAllocation(of: UnsafePointer<CChar>?.self, capacity: count) { values in
            unsafe withUnsafeTemporaryAllocation(of: Int32.self, capacity: count * 2) { numbers in
                for (index, parameter) in parameters.enumerated() {
                    let isNull = parameter.length < 0
                    let start = unsafe UnsafeRawPointer(buffer.baseAddress)?.advanced(by: parameter.offset)
                    unsafe values.initializeElement(
                        at: index,
                        to: isNull ? nil : start?.assumingMemoryBound(to: CChar.self)
                    )
                    unsafe numbers.initializeElement(at: index, to: Int32(max(parameter.length, 0)))
                    unsafe numbers.initializeElement(at: count + index, to: 1)
                }
                let lengths = numbers.baseAddress
                return unsafe body(
                    UnsafePointer(values.baseAddress),
                    lengths,
                    lengths.map { unsafe $0 + count },
                    Int32(count)
                )
            }
        }
    }
}
