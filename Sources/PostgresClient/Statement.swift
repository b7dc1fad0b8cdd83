/// The statements that are values; each target that has some extends it.
package enum SQL {}

/// One SQL statement: its name, its text, the types of its binds and how to read its rows.
///
/// Called with the values of `$1`, `$2` … it becomes what a session runs:
/// `session.run(SQL.forgetUser(app, user))`. A statement of the hot path is a ``PostgresStatement`` instead, whose
/// binds and rows the compiler specializes.
package struct Statement<Row, each Bind: PostgresBind>: Sendable {
    /// The statement's name, unique among all statements of the program.
    package let name: String
    /// One SQL command.
    package let sql: String
    private let decode: @Sendable (borrowing PostgresRow) throws(PostgresError) -> Row

    /// Creates a statement whose rows a closure reads.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - sql: its text.
    ///   - decode: reads one row.
    package init(
        _ name: String,
        _ sql: String,
        decode: @escaping @Sendable (borrowing PostgresRow) throws(PostgresError) -> Row
    ) {
        (self.name, self.sql, self.decode) = (name, sql, decode)
    }

    /// Creates a statement whose rows a function makes of all columns, such as the initializer of a struct.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - sql: its text.
    ///   - make: receives the columns in order.
    package init<each Column: PostgresValue>(
        _ name: String,
        _ sql: String,
        row make: @escaping @Sendable (repeat each Column) -> Row
    ) {
        self.init(name, sql) { row throws(PostgresError) in
            var column = 0
            return make(repeat try row.next((each Column).self, at: &column))
        }
    }

    /// Creates a statement with one column.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - sql: its text.
    package init(_ name: String, _ sql: String) where Row: PostgresValue {
        self.init(name, sql) { row throws(PostgresError) in try Row.read(0, of: row) }
    }

    /// Creates a statement without rows of interest.
    ///
    /// - Parameters:
    ///   - name: its name.
    ///   - sql: its text.
    package init(_ name: String, _ sql: String) where Row == Void {
        self.init(name, sql) { _ throws(PostgresError) in }
    }

    /// Binds values to the statement.
    ///
    /// - Parameter values: `$1`, `$2` … in order.
    /// - Returns: what ``PostgresConnection/run(_:)`` takes.
    package func callAsFunction(_ values: repeat each Bind) -> StatementCall<Row> {
        StatementCall(name: name, sql: sql, append: { binds in repeat (each values).append(to: &binds) }, read: decode)
    }
}

/// A ``Statement`` with its values.
package struct StatementCall<Row>: BoundStatement {
    package let name: String
    package let sql: String
    fileprivate let append: @Sendable (inout PostgresBinds) -> Void
    fileprivate let read: @Sendable (borrowing PostgresRow) throws(PostgresError) -> Row

    package func bind(to binds: inout PostgresBinds) {
        append(&binds)
    }

    package func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        try read(row)
    }
}

/// The name and the text of a statement, for tools that show them.
package struct StatementText: Sendable {
    package let name: String
    package let sql: String

    package init(name: String, sql: String) {
        (self.name, self.sql) = (name, sql)
    }
}

/// A ``Statement`` of any types.
package protocol StatementValue: Sendable {
    /// Its name and its text.
    var text: StatementText { get }
}

extension Statement: StatementValue {
    package var text: StatementText { StatementText(name: name, sql: sql) }
}

extension PostgresRow {
    /// Reads a column and moves on to the next.
    fileprivate func next<Value: PostgresValue>(_: Value.Type, at column: inout Int) throws(PostgresError) -> Value {
        defer { column += 1 }
        return try Value.read(column, of: self)
    }
}
