/// A value with a binary form, usable as a parameter or as an array element.
package protocol BinaryEncodable {
    static var type: PostgresType { get }
    static var arrayType: PostgresType { get }
    /// The size of the binary form in bytes.
    var binarySize: Int { get }
    /// Writes `binarySize` bytes at the start of `target`.
    func encode(into target: UnsafeMutableRawBufferPointer)
}

extension Int64: BinaryEncodable {
    package static var type: PostgresType { .int8 }
    package static var arrayType: PostgresType { .int8Array }
    package var binarySize: Int { 8 }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bigEndian, as: Int64.self)
    }
}

extension Int32: BinaryEncodable {
    package static var type: PostgresType { .int4 }
    package static var arrayType: PostgresType { .int4Array }
    package var binarySize: Int { 4 }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bigEndian, as: Int32.self)
    }
}

extension Int16: BinaryEncodable {
    package static var type: PostgresType { .int2 }
    package static var arrayType: PostgresType { .int2Array }
    package var binarySize: Int { 2 }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bigEndian, as: Int16.self)
    }
}

extension Bool: BinaryEncodable {
    package static var type: PostgresType { .bool }
    package static var arrayType: PostgresType { .boolArray }
    package var binarySize: Int { 1 }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: self ? 1 : 0, as: UInt8.self)
    }
}

extension Double: BinaryEncodable {
    package static var type: PostgresType { .float8 }
    package static var arrayType: PostgresType { .float8Array }
    package var binarySize: Int { 8 }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bitPattern.bigEndian, as: UInt64.self)
    }
}

extension Timestamp: BinaryEncodable {
    package static var type: PostgresType { .timestamptz }
    package static var arrayType: PostgresType { .timestamptzArray }
    package var binarySize: Int { 8 }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe serverMicroseconds.encode(into: target)
    }
}

extension String: BinaryEncodable {
    package static var type: PostgresType { .text }
    package static var arrayType: PostgresType { .textArray }
    package var binarySize: Int { utf8.count }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.copyBytes(from: utf8)
    }
}

extension [UInt8]: BinaryEncodable {
    package static var type: PostgresType { .bytea }
    package static var arrayType: PostgresType { .byteaArray }
    package var binarySize: Int { count }

    package func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.copyBytes(from: self)
    }
}
