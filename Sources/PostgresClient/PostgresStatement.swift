/// An SQL statement with the values of its binds, as a session runs it.
///
/// Each session prepares it under `name` at first use. Values are bound, never interpolated. For jsonb, bind a string
/// and write `$1::jsonb`: the parameter's type is the one of the value given to ``PostgresBinds``.
public protocol BoundStatement: Sendable {
    /// The value of one row; `Void` for statements without rows of interest.
    associatedtype Row

    /// The statement's name, unique among all statements of the program.
    var name: String { get }
    /// One SQL command, the same for each value with this name.
    var sql: String { get }

    /// Appends `$1`, `$2` … in order, with the same types every time.
    ///
    /// - Parameter binds: receives the values.
    func bind(to binds: inout PostgresBinds)

    /// Decodes one row.
    ///
    /// - Parameter row: valid during the call only.
    /// - Returns: the row's value.
    /// - Throws: `protocolMismatch` from the row's getters.
    func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row
}

/// A statement as a type: its properties are the binds, its text and name are constant.
public protocol PostgresStatement: BoundStatement {
    /// The value of one row, again, so that the compiler infers it from the static `decode`.
    associatedtype Row

    /// The statement's name, unique among all statements of the program.
    static var name: String { get }
    /// One SQL command, as a stored constant: each run compares it with what the session prepared, which is free for
    /// the same string.
    static var sql: String { get }

    /// Decodes one row.
    ///
    /// - Parameter row: valid during the call only.
    /// - Returns: the row's value.
    /// - Throws: `protocolMismatch` from the row's getters.
    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row
}

extension PostgresStatement {
    /// The name of its type's statement.
    public var name: String { Self.name }
    /// The text of its type's statement.
    public var sql: String { Self.sql }

    /// Decodes one row as its type does.
    ///
    /// - Parameter row: valid during the call only.
    /// - Returns: the row's value.
    /// - Throws: `protocolMismatch` from the row's getters.
    public func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        try Self.decode(row)
    }

    /// Binds nothing.
    ///
    /// - Parameter binds: left unchanged.
    public func bind(to binds: inout PostgresBinds) {}
}

extension PostgresStatement where Row == Void {
    /// Reads nothing.
    ///
    /// - Parameter row: ignored.
    /// - Throws: nothing.
    public static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}
