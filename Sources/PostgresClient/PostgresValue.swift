/// A Swift type of a ``Statement``'s binds; one of several values takes as many parameters.
package protocol PostgresBind: Sendable {
    /// Appends the values to the binds of a statement.
    func append(to binds: inout PostgresBinds)
}

/// A Swift type of a ``Statement``'s binds and columns.
package protocol PostgresValue: PostgresBind {
    /// Reads a column.
    static func read(_ column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> Self
}

/// A value in whose place NULL can stand, as an `Optional`.
package protocol PostgresNullable: PostgresValue {
    /// Appends the value, or NULL of its type.
    static func append(orNull value: Self?, to binds: inout PostgresBinds)

    /// Reads a column; nil for NULL.
    static func read(orNull column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> Self?
}

/// An element of an array.
package protocol PostgresElement: Sendable {
    /// Appends an array, or NULL of its type.
    static func append(array: [Self]?, to binds: inout PostgresBinds)

    /// Reads an array; nil for NULL.
    static func read(array column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> [Self]?
}

extension PostgresNullable {
    package func append(to binds: inout PostgresBinds) {
        Self.append(orNull: self, to: &binds)
    }

    package static func read(_ column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> Self {
        try row.required(column, try read(orNull: column, of: row))
    }
}

extension PostgresNullable where Self: BinaryEncodable & BinaryDecodable {
    package static func append(orNull value: Self?, to binds: inout PostgresBinds) {
        binds.appendScalar(value)
    }

    package static func read(orNull column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> Self? {
        try row.scalar(column, Self.self)
    }
}

extension PostgresElement where Self: BinaryEncodable & BinaryDecodable {
    package static func append(array: [Self]?, to binds: inout PostgresBinds) {
        binds.appendArray(array)
    }

    package static func read(array column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> [Self]? {
        try row.array(column, of: Self.self)
    }
}

extension Int64: PostgresNullable, PostgresElement {}
extension Int32: PostgresNullable, PostgresElement {}
extension Int16: PostgresNullable, PostgresElement {}
extension Bool: PostgresNullable, PostgresElement {}
extension Double: PostgresNullable, PostgresElement {}
extension Timestamp: PostgresNullable, PostgresElement {}
extension String: PostgresNullable, PostgresElement {}

/// An array of bytes is a `bytea`.
extension UInt8: PostgresElement {
    package static func append(array: [UInt8]?, to binds: inout PostgresBinds) {
        binds.appendScalar(array)
    }

    package static func read(array column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> [UInt8]? {
        try row.scalar(column, [UInt8].self)
    }
}

extension Array: PostgresElement where Element == UInt8 {}

extension Array: PostgresBind, PostgresValue, PostgresNullable where Element: PostgresElement {
    package static func append(orNull value: Self?, to binds: inout PostgresBinds) {
        Element.append(array: value, to: &binds)
    }

    package static func read(orNull column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> Self? {
        try Element.read(array: column, of: row)
    }
}

extension Optional: PostgresBind, PostgresValue where Wrapped: PostgresNullable {
    package func append(to binds: inout PostgresBinds) {
        Wrapped.append(orNull: self, to: &binds)
    }

    package static func read(_ column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> Self {
        try Wrapped.read(orNull: column, of: row)
    }
}

/// An element that may be NULL; the array itself may not.
extension Optional: PostgresElement where Wrapped: PostgresElement & BinaryEncodable & BinaryDecodable {
    package static func append(array: [Self]?, to binds: inout PostgresBinds) {
        binds.appendArray(withNulls: array ?? [])
    }

    package static func read(array column: Int, of row: borrowing PostgresRow) throws(PostgresError) -> [Self]? {
        try row.sparseArray(column, of: Wrapped.self)
    }
}
