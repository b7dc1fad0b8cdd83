extension PostgresRow {
    /// Reads an array without NULL elements; nil if the array is NULL.
    func array<Value: BinaryDecodable>(_ column: Int, of _: Value.Type) throws(PostgresError) -> [Value]? {
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
    func sparseArray<Value: BinaryDecodable>(
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
