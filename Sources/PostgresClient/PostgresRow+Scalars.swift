extension PostgresRow {
    /// Reads a `bigint`, `xid8` (as its bit pattern) or `oid`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func int64(_ column: Int) throws(PostgresError) -> Int64 {
        try required(column, scalar(column, Int64.self))
    }

    /// Reads a `bigint`, `xid8` (as its bit pattern) or `oid` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func int64(orNil column: Int) throws(PostgresError) -> Int64? {
        try scalar(column, Int64.self)
    }

    /// Reads a `integer`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func int32(_ column: Int) throws(PostgresError) -> Int32 {
        try required(column, scalar(column, Int32.self))
    }

    /// Reads a `integer` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func int32(orNil column: Int) throws(PostgresError) -> Int32? {
        try scalar(column, Int32.self)
    }

    /// Reads a `smallint`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func int16(_ column: Int) throws(PostgresError) -> Int16 {
        try required(column, scalar(column, Int16.self))
    }

    /// Reads a `smallint` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func int16(orNil column: Int) throws(PostgresError) -> Int16? {
        try scalar(column, Int16.self)
    }

    /// Reads a `boolean`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func bool(_ column: Int) throws(PostgresError) -> Bool {
        try required(column, scalar(column, Bool.self))
    }

    /// Reads a `boolean` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func bool(orNil column: Int) throws(PostgresError) -> Bool? {
        try scalar(column, Bool.self)
    }

    /// Reads a `double precision`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func double(_ column: Int) throws(PostgresError) -> Double {
        try required(column, scalar(column, Double.self))
    }

    /// Reads a `double precision` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func double(orNil column: Int) throws(PostgresError) -> Double? {
        try scalar(column, Double.self)
    }

    /// Reads a `timestamptz`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func timestamp(_ column: Int) throws(PostgresError) -> Timestamp {
        try required(column, scalar(column, Timestamp.self))
    }

    /// Reads a `timestamptz` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func timestamp(orNil column: Int) throws(PostgresError) -> Timestamp? {
        try scalar(column, Timestamp.self)
    }

    /// Reads a `text` or another string type, `json` or `jsonb`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func string(_ column: Int) throws(PostgresError) -> String {
        try required(column, scalar(column, String.self))
    }

    /// Reads a `text` or another string type, `json` or `jsonb` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func string(orNil column: Int) throws(PostgresError) -> String? {
        try scalar(column, String.self)
    }

    /// Reads a `bytea`.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value.
    /// - Throws: `protocolMismatch`.
    public func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
        try required(column, scalar(column, [UInt8].self))
    }

    /// Reads a `bytea` that may be NULL.
    ///
    /// - Parameter column: its position.
    /// - Returns: the value; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func bytes(orNil column: Int) throws(PostgresError) -> [UInt8]? {
        try scalar(column, [UInt8].self)
    }
}
