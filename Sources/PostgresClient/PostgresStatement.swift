/// One SQL statement as a value: its binds are the properties, its text and name are fixed.
///
/// Prepared under `name` in each session at first use. Binds only, no interpolation. Ask for jsonb by `$1::jsonb` over
/// a bound string: the parameter's type is the one that ``PostgresBinds`` was given.
public protocol PostgresStatement: Sendable {
    /// What one row becomes; `Void` for statements whose rows do not matter.
    associatedtype Row

    /// Unique among all statements of the program.
    static var name: String { get }
    /// One SQL command.
    static var sql: String { get }

    /// Appends `$1`, `$2` … in order, of the same types every time.
    ///
    /// - Parameter binds: takes the values.
    func bind(to binds: inout PostgresBinds)

    /// Reads one row.
    ///
    /// - Parameter row: valid during the call only.
    /// - Returns: the row's value.
    /// - Throws: `protocolMismatch` from the row's getters.
    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row
}

extension PostgresStatement {
    /// Binds nothing.
    ///
    /// - Parameter binds: left as it is.
    public func bind(to binds: inout PostgresBinds) {}
}

extension PostgresStatement where Row == Void {
    /// Reads nothing.
    ///
    /// - Parameter row: ignored.
    /// - Throws: nothing.
    public static func decode(_ row: borrowing PostgresRow) throws(PostgresError) {}
}
