/// One SQL statement as a value: its properties are the binds, its text and name are constant.
///
/// Each session prepares it under `name` at first use. Values are bound, never interpolated. For jsonb, bind a string
/// and write `$1::jsonb`: the parameter's type is the one of the value given to ``PostgresBinds``.
public protocol PostgresStatement: Sendable {
    /// The value of one row; `Void` for statements without rows of interest.
    associatedtype Row

    /// The statement's name, unique among all statements of the program.
    static var name: String { get }
    /// One SQL command.
    static var sql: String { get }

    /// Appends `$1`, `$2` … in order, with the same types every time.
    ///
    /// - Parameter binds: receives the values.
    func bind(to binds: inout PostgresBinds)

    /// Decodes one row.
    ///
    /// - Parameter row: valid during the call only.
    /// - Returns: the row's value.
    /// - Throws: `protocolMismatch` from the row's getters.
    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row
}

extension PostgresStatement {
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
