/// The parameters of one statement in PostgreSQL's binary form, in a buffer that a connection reuses.
///
/// Every value carries its SQL type, so the server infers nothing. Appending allocates only while the buffer grows.
@safe
public struct PostgresBinds: ~Copyable {
    private(set) var buffer: UnsafeMutableRawBufferPointer
    private(set) var used = 0
    private(set) var parameters: [Parameter] = []

    /// The position of one parameter in the buffer.
    struct Parameter {
        let type: PostgresType
        let offset: Int
        /// Negative for NULL.
        var length: Int
    }

    /// The size to which the buffer shrinks after an unusually large statement, in bytes.
    private static let kept = 1 << 20

    /// Creates an empty list.
    public init() {
        unsafe buffer = .allocate(byteCount: 4096, alignment: 8)
    }

    deinit {
        unsafe buffer.deallocate()
    }

    /// Removes all parameters but keeps the memory.
    mutating func removeAll() {
        used = 0
        parameters.removeAll(keepingCapacity: true)
        if unsafe buffer.count > Self.kept {
            unsafe buffer.deallocate()
            unsafe buffer = .allocate(byteCount: 4096, alignment: 8)
        }
    }

    /// Appends a parameter of a known size.
    ///
    /// - Parameters:
    ///   - type: its SQL type.
    ///   - size: its size in bytes.
    ///   - fill: writes exactly `size` bytes.
    mutating func append(
        _ type: PostgresType,
        size: Int,
        fill: (UnsafeMutableRawBufferPointer) -> Void
    ) {
        precondition(size <= Int32.max, "a bind of \(size) bytes is larger than PostgreSQL takes")
        reserve(size)
        unsafe fill(UnsafeMutableRawBufferPointer(rebasing: buffer[used..<used + size]))
        parameters.append(Parameter(type: type, offset: used, length: size))
        used += size
    }

    mutating func appendNull(_ type: PostgresType) {
        parameters.append(Parameter(type: type, offset: used, length: -1))
    }

    private mutating func reserve(_ size: Int) {
        guard unsafe used + size > buffer.count else { return }
        let larger = unsafe UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(used + size, buffer.count * 2),
            alignment: 8
        )
        unsafe larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<used]))
        unsafe buffer.deallocate()
        unsafe buffer = larger
    }
}

extension PostgresBinds {
    /// Appends a value of a scalar or an array type, or NULL for nil.
    ///
    /// A string becomes a `text`; for jsonb write `$n::jsonb` in the statement. The server rejects a string that contains
    /// U+0000.
    ///
    /// - Parameter value: the parameter.
    package mutating func append(_ value: some PostgresBind) { value.append(to: &self) }

    mutating func appendScalar<Value: BinaryEncodable>(_ value: Value?) {
        guard let value else { return appendNull(Value.type) }
        unsafe append(Value.type, size: value.binarySize) { unsafe value.encode(into: $0) }
    }
}
