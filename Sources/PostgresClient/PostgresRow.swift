internal import CPostgres

/// One row of a result in binary form, passed to ``PostgresStatement/decode(_:)``.
///
/// It cannot be copied, so it cannot outlive its result. Getters take the column's position from 0; those with `orNil`
/// allow NULL. A wrong type, position or NULL throws `protocolMismatch` and names the column.
@safe
public struct PostgresRow: ~Copyable {
    private let result: OpaquePointer
    private let index: Int32

    /// Creates a row of `result`, which is in binary form and which the caller keeps alive.
    init(result: OpaquePointer, index: Int32) {
        unsafe self.result = unsafe result
        self.index = index
    }

    /// The number of columns.
    public var columnCount: Int { unsafe Int(PQnfields(result)) }

    /// Reads the bytes of a column whose type passes `accepts` with `read`; nil for NULL.
    func read<Value>(
        _ column: Int,
        expected: @autoclosure () -> String,
        accepts: (PostgresType) -> Bool,
        _ read: (UnsafeRawBufferPointer, PostgresType) -> Value?
    ) throws(PostgresError) -> Value? {
        guard column >= 0 && column < columnCount else {
            throw mismatch(column, "the statement returns \(columnCount) columns")
        }
        let position = Int32(column)
        let type = PostgresType(rawValue: unsafe PQftype(result, position))
        guard accepts(type) else {
            throw mismatch(column, "type \(type.rawValue) came where \(expected()) was expected")
        }
        let length = unsafe Int(PQgetlength(result, index, position))
        // NULL has length 0 as well; checking only then saves a call for nearly every value.
        if unsafe length == 0 && PQgetisnull(result, index, position) == 1 { return nil }
        let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(result, index, position), count: length)
        guard let value = unsafe read(bytes, type) else {
            throw mismatch(column, "its bytes are not a \(expected())")
        }
        return value
    }

    func scalar<Value: BinaryDecodable>(_ column: Int, _: Value.Type) throws(PostgresError) -> Value? {
        try unsafe read(column, expected: Value.expected, accepts: Value.accepts) { unsafe Value(binary: $0, type: $1) }
    }

    func required<Value>(_ column: Int, _ value: Value?) throws(PostgresError) -> Value {
        guard let value else { throw mismatch(column, "it is NULL") }
        return value
    }

    private func mismatch(_ column: Int, _ reason: String) -> PostgresError {
        let name = unsafe PQfname(result, Int32(clamping: column)).map { unsafe String(cString: $0) }
        return PostgresError(
            .protocolMismatch,
            message: "column \(column) (\(name ?? "no such column")): \(reason)",
            hint: "The statement and its decoder disagree, or the schema is of another version: run fanfare migrate."
        )
    }
}

extension PostgresRow {
    /// Reads a scalar or an array; an optional type allows NULL.
    ///
    /// The getters named after a type are specialized by the compiler, as the hot path needs it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    package func read<Value: PostgresValue>(_ column: Int) throws(PostgresError) -> Value {
        try Value.read(column, of: self)
    }

    /// Reads a `bytea` in place.
    ///
    /// - Parameters:
    ///   - column: its position.
    ///   - body: receives the bytes, which are valid during the call only.
    /// - Returns: the result of `body`; nil for NULL, without calling it.
    /// - Throws: `protocolMismatch` if the column is not a `bytea`.
    public func withBytes<Result>(_ column: Int, _ body: (RawSpan) -> Result) throws(PostgresError) -> Result? {
        try unsafe read(column, expected: "bytea", accepts: [UInt8].accepts) { bytes, _ in
            unsafe body(bytes.bytes)
        }
    }
}
