extension PostgresRow {
    /// Reads an array without NULL elements; nil if the array is NULL.
    private func array<Value: BinaryDecodable>(_ column: Int, of _: Value.Type) throws(PostgresError) -> [Value]? {
        try unsafe read(column, expected: "\(Value.expected)[] without NULLs", accepts: acceptsArray(of: Value.self)) {
            bytes,
            _ in
            guard var reader = unsafe ArrayReader(binary: bytes) else { return nil }
            var values: [Value] = []
            values.reserveCapacity(reader.count)
            for _ in 0..<reader.count {
                guard case .bytes(let element) = reader.next(),
                    let value = unsafe Value(binary: element, type: reader.type)
                else { return nil }
                values.append(value)
            }
            return values
        }
    }

    /// Reads an array that may have NULL elements; nil if the array is NULL.
    private func sparseArray<Value: BinaryDecodable>(
        _ column: Int,
        of _: Value.Type
    ) throws(PostgresError) -> [Value?]? {
        try unsafe read(column, expected: "\(Value.expected)[]", accepts: acceptsArray(of: Value.self)) { bytes, _ in
            guard var reader = unsafe ArrayReader(binary: bytes) else { return nil }
            var values: [Value?] = []
            values.reserveCapacity(reader.count)
            for _ in 0..<reader.count {
                switch reader.next() {
                case .null: values.append(nil)
                case .malformed: return nil
                case .bytes(let element):
                    guard let value = unsafe Value(binary: element, type: reader.type) else { return nil }
                    values.append(value)
                }
            }
            return values
        }
    }

    private func acceptsArray<Value: BinaryDecodable>(of _: Value.Type) -> (PostgresType) -> Bool {
        { $0.element.map(Value.accepts) ?? false }
    }
}

extension PostgresRow {
    /// Reads a `bigint[]` (or `xid8[]`, `oid[]`) without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements.
    /// - Throws: `protocolMismatch`.
    public func int64s(_ column: Int) throws(PostgresError) -> [Int64] {
        try required(column, array(column, of: Int64.self))
    }

    /// Reads a `bigint[]` (or `xid8[]`, `oid[]`) that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func int64s(orNil column: Int) throws(PostgresError) -> [Int64]? {
        try array(column, of: Int64.self)
    }

    /// Reads a `integer[]` that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func int32s(orNil column: Int) throws(PostgresError) -> [Int32]? {
        try array(column, of: Int32.self)
    }

    /// Reads a `smallint[]` that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func int16s(orNil column: Int) throws(PostgresError) -> [Int16]? {
        try array(column, of: Int16.self)
    }

    /// Reads a `boolean[]` that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func bools(orNil column: Int) throws(PostgresError) -> [Bool]? {
        try array(column, of: Bool.self)
    }

    /// Reads a `double precision[]` that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func doubles(orNil column: Int) throws(PostgresError) -> [Double]? {
        try array(column, of: Double.self)
    }

    /// Reads a `timestamptz[]` that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func timestamps(orNil column: Int) throws(PostgresError) -> [Timestamp]? {
        try array(column, of: Timestamp.self)
    }

    /// Reads a `text[]` (or another string type's array) without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements.
    /// - Throws: `protocolMismatch`.
    public func strings(_ column: Int) throws(PostgresError) -> [String] {
        try required(column, array(column, of: String.self))
    }

    /// Reads a `text[]` (or another string type's array) that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func strings(orNil column: Int) throws(PostgresError) -> [String]? {
        try array(column, of: String.self)
    }

    /// Reads a `bytea[]` that may be NULL, without NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements; nil for NULL.
    /// - Throws: `protocolMismatch`.
    public func byteStrings(orNil column: Int) throws(PostgresError) -> [[UInt8]]? {
        try array(column, of: [UInt8].self)
    }

    /// Reads a `bigint[]` (or `xid8[]`, `oid[]`) with NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements, nil where NULL.
    /// - Throws: `protocolMismatch`.
    public func int64s(withNulls column: Int) throws(PostgresError) -> [Int64?] {
        try required(column, sparseArray(column, of: Int64.self))
    }

    /// Reads a `integer[]` with NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements, nil where NULL.
    /// - Throws: `protocolMismatch`.
    public func int32s(withNulls column: Int) throws(PostgresError) -> [Int32?] {
        try required(column, sparseArray(column, of: Int32.self))
    }

    /// Reads a `smallint[]` with NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements, nil where NULL.
    /// - Throws: `protocolMismatch`.
    public func int16s(withNulls column: Int) throws(PostgresError) -> [Int16?] {
        try required(column, sparseArray(column, of: Int16.self))
    }

    /// Reads a `timestamptz[]` with NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements, nil where NULL.
    /// - Throws: `protocolMismatch`.
    public func timestamps(withNulls column: Int) throws(PostgresError) -> [Timestamp?] {
        try required(column, sparseArray(column, of: Timestamp.self))
    }

    /// Reads a `text[]` (or another string type's array) with NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements, nil where NULL.
    /// - Throws: `protocolMismatch`.
    public func strings(withNulls column: Int) throws(PostgresError) -> [String?] {
        try required(column, sparseArray(column, of: String.self))
    }

    /// Reads a `bytea[]` with NULLs in it.
    ///
    /// - Parameter column: its position.
    /// - Returns: the elements, nil where NULL.
    /// - Throws: `protocolMismatch`.
    public func byteStrings(withNulls column: Int) throws(PostgresError) -> [[UInt8]?] {
        try required(column, sparseArray(column, of: [UInt8].self))
    }
}
