/// A value that can be read from PostgreSQL's binary form.
package protocol BinaryDecodable {
    /// The expected type in words, for error messages.
    static var expected: String { get }
    static func accepts(_ type: PostgresType) -> Bool
    /// Decodes the value; nil if the bytes are not a valid value.
    init?(binary: UnsafeRawBufferPointer, type: PostgresType)
}

extension FixedWidthInteger {
    /// Reads a big-endian integer that fills `binary` exactly.
    fileprivate init?(network binary: UnsafeRawBufferPointer) {
        guard binary.count == MemoryLayout<Self>.size else { return nil }
        self.init(bigEndian: unsafe binary.loadUnaligned(as: Self.self))
    }
}

extension Int64: BinaryDecodable {
    package static var expected: String { "bigint" }

    package static func accepts(_ type: PostgresType) -> Bool { type == .int8 || type == .xid8 || type == .oid }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) {
        if type == .oid {
            guard let value = unsafe UInt32(network: binary) else { return nil }
            self.init(value)
        } else {
            unsafe self.init(network: binary)
        }
    }
}

extension Int32: BinaryDecodable {
    package static var expected: String { "integer" }

    package static func accepts(_ type: PostgresType) -> Bool { type == .int4 }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) { unsafe self.init(network: binary) }
}

extension Int16: BinaryDecodable {
    package static var expected: String { "smallint" }

    package static func accepts(_ type: PostgresType) -> Bool { type == .int2 }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) { unsafe self.init(network: binary) }
}

extension Bool: BinaryDecodable {
    package static var expected: String { "boolean" }

    package static func accepts(_ type: PostgresType) -> Bool { type == .bool }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) {
        guard let byte = unsafe UInt8(network: binary) else { return nil }
        self = byte != 0
    }
}

extension Double: BinaryDecodable {
    package static var expected: String { "double precision" }

    package static func accepts(_ type: PostgresType) -> Bool { type == .float8 }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) {
        guard let bits = unsafe UInt64(network: binary) else { return nil }
        self.init(bitPattern: bits)
    }
}

extension Timestamp: BinaryDecodable {
    package static var expected: String { "timestamp with time zone" }

    package static func accepts(_ type: PostgresType) -> Bool { type == .timestamptz }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) {
        guard let value = unsafe Int64(network: binary) else { return nil }
        self.init(serverMicroseconds: value)
    }
}

extension String: BinaryDecodable {
    package static var expected: String { "text" }

    package static func accepts(_ type: PostgresType) -> Bool {
        switch type {
        case .text, .varchar, .bpchar, .name, .char, .json, .jsonb, .unknown: true
        default: false
        }
    }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) {
        var text = unsafe binary
        if type == .jsonb {
            // jsonb_send writes a version byte, always 1, before the text.
            guard unsafe binary.first == 1 else { return nil }
            unsafe text = UnsafeRawBufferPointer(rebasing: binary[1...])
        }
        unsafe self.init(decoding: text, as: UTF8.self)
    }
}

extension [UInt8]: BinaryDecodable {
    package static var expected: String { "bytea" }

    package static func accepts(_ type: PostgresType) -> Bool { type == .bytea }

    package init?(binary: UnsafeRawBufferPointer, type: PostgresType) { unsafe self.init(binary) }
}

/// Iterates over the elements of an array in binary form; see `ArrayHeader` for the format.
@safe
struct ArrayReader {
    let type: PostgresType
    let count: Int
    private var rest: UnsafeRawBufferPointer

    /// Reads the array header; nil if the bytes are not an array or the array has several dimensions.
    init?(binary: UnsafeRawBufferPointer) {
        guard binary.count >= 12 else { return nil }
        let dimensions = unsafe Int32(bigEndian: binary.loadUnaligned(as: Int32.self))
        type = PostgresType(
            rawValue: unsafe UInt32(bigEndian: binary.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
        )
        if dimensions == 1 {
            guard binary.count >= 20 else { return nil }
            count = Int(unsafe Int32(bigEndian: binary.loadUnaligned(fromByteOffset: 12, as: Int32.self)))
            unsafe rest = UnsafeRawBufferPointer(rebasing: binary[20...])
            // Each element takes at least the 4 bytes of its length, so a wrong count is rejected before memory is
            // reserved.
            guard unsafe count >= 0 && rest.count / 4 >= count else { return nil }
        } else {
            guard dimensions == 0 else { return nil }
            count = 0
            unsafe rest = UnsafeRawBufferPointer(rebasing: binary[12...])
        }
    }

    /// The bytes of the next element.
    @safe
    enum Element {
        case null
        case bytes(UnsafeRawBufferPointer)
        case malformed
    }

    mutating func next() -> Element {
        guard unsafe rest.count >= 4 else { return .malformed }
        let length = Int(unsafe Int32(bigEndian: rest.loadUnaligned(as: Int32.self)))
        guard length >= 0 else {
            unsafe rest = UnsafeRawBufferPointer(rebasing: rest[4...])
            return .null
        }
        guard unsafe rest.count - 4 >= length else { return .malformed }
        let bytes = unsafe UnsafeRawBufferPointer(rebasing: rest[4..<4 + length])
        unsafe rest = UnsafeRawBufferPointer(rebasing: rest[(4 + length)...])
        return unsafe .bytes(bytes)
    }
}
