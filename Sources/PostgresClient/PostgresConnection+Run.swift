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
    public func run<Statement: PostgresStatement>(
        _ statement: Statement
    ) throws(PostgresError) -> [Statement.Row] {
        try perform(statement).rows(of: Statement.self)
    }

    /// Runs a prepared statement and ignores its rows.
    ///
    /// - Parameter statement: the statement.
    /// - Throws: the server's error.
    public func run<Statement: PostgresStatement>(
        _ statement: Statement
    ) throws(PostgresError) where Statement.Row == Void {
        _ = try perform(statement)
    }

    /// Runs a prepared statement and returns the number of rows that its last command affected.
    ///
    /// - Parameter statement: the statement; the rows it returns are dropped.
    /// - Returns: the number of rows inserted, updated, deleted or selected.
    /// - Throws: the server's error.
    public func runReturningCount(_ statement: some PostgresStatement) throws(PostgresError) -> Int {
        try perform(statement).affectedRowCount
    }

    /// Binds, prepares if needed, and executes.
    func perform<Statement: PostgresStatement>(_ statement: Statement) throws(PostgresError) -> PostgresResult {
        binds.removeAll()
        statement.bind(to: &binds)
        do {
            return try executePrepared(Statement.self)
        } catch {
            guard error.isStalePlan else { throw error }
            prepared.forget(Statement.name)
            guard !isInTransaction else { throw error }
            return try executePrepared(Statement.self)
        }
    }

    private func executePrepared<Statement: PostgresStatement>(
        _: Statement.Type
    ) throws(PostgresError) -> PostgresResult {
        let name = try prepare(Statement.self)
        return try unsafe exchange(statement: Statement.name) { handle in
            unsafe binds.withPointers { values, lengths, formats, count in
                unsafe PQsendQueryPrepared(handle, name, count, values, lengths, formats, 1)
            }
        }
    }

    /// Prepares a statement unless this session has it.
    ///
    /// - Returns: the name it has in this session.
    func prepare<Statement: PostgresStatement>(_: Statement.Type) throws(PostgresError) -> String {
        if let name = prepared.name(of: Statement.self, parameters: binds.parameters) { return name }
        let name = prepared.newName(of: Statement.self)
        let types = binds.parameters.map { Oid($0.type.rawValue) }
        _ = try unsafe exchange(statement: Statement.name) { handle in
            unsafe types.withUnsafeBufferPointer { types in
                unsafe PQsendPrepare(handle, name, Statement.sql, Int32(types.count), types.baseAddress)
            }
        }
        prepared.add(Statement.self, parameters: binds.parameters)
        return name
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
    func rows<Statement: PostgresStatement>(of _: Statement.Type) throws(PostgresError) -> [Statement.Row] {
        var rows: [Statement.Row] = []
        rows.reserveCapacity(rowCount)
        for index in 0..<rowCount { rows.append(try Statement.decode(row(index))) }
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
        let statement: ObjectIdentifier
        let serverName: String
        let types: [PostgresType]
    }

    private var entries: [String: Entry] = [:]
    /// How often a statement was prepared again; each time it gets a new name, as the old one may still exist.
    private var generations: [String: Int] = [:]

    /// Returns the name under which the session has the statement; nil if it must be prepared.
    ///
    /// Traps if two statements share a name or one changes the types of its binds, because values would be misread.
    func name<Statement: PostgresStatement>(
        of _: Statement.Type,
        parameters: [PostgresBinds.Parameter]
    ) -> String? {
        guard let entry = entries[Statement.name] else { return nil }
        precondition(entry.statement == ObjectIdentifier(Statement.self), "two statements are named \(Statement.name)")
        precondition(
            entry.types.elementsEqual(parameters, by: { $0 == $1.type }),
            "statement \(Statement.name) changed the types of its binds"
        )
        return entry.serverName
    }

    func newName<Statement: PostgresStatement>(of _: Statement.Type) -> String {
        let generation = generations[Statement.name, default: 0]
        return generation == 0 ? Statement.name : "\(Statement.name)#\(generation)"
    }

    mutating func add<Statement: PostgresStatement>(
        _ statement: Statement.Type,
        parameters: [PostgresBinds.Parameter]
    ) {
        entries[Statement.name] = Entry(
            statement: ObjectIdentifier(statement),
            serverName: newName(of: statement),
            types: parameters.map(\.type)
        )
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
