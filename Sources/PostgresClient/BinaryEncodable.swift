/// A value with a binary form, usable as a parameter or as an array element.
protocol BinaryEncodable {
    static var type: PostgresType { get }
    static var arrayType: PostgresType { get }
    /// The size of the binary form in bytes.
    var binarySize: Int { get }
    /// Writes `binarySize` bytes at the start of `target`.
    func encode(into target: UnsafeMutableRawBufferPointer)
}

extension Int64: BinaryEncodable {
    static var type: PostgresType { .int8 }
    static var arrayType: PostgresType { .int8Array }
    var binarySize: Int { 8 }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bigEndian, as: Int64.self)
    }
}

extension Int32: BinaryEncodable {
    static var type: PostgresType { .int4 }
    static var arrayType: PostgresType { .int4Array }
    var binarySize: Int { 4 }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bigEndian, as: Int32.self)
    }
}

extension Int16: BinaryEncodable {
    static var type: PostgresType { .int2 }
    static var arrayType: PostgresType { .int2Array }
    var binarySize: Int { 2 }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bigEndian, as: Int16.self)
    }
}

extension Bool: BinaryEncodable {
    static var type: PostgresType { .bool }
    static var arrayType: PostgresType { .boolArray }
    var binarySize: Int { 1 }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: self ? 1 : 0, as: UInt8.self)
    }
}

extension Double: BinaryEncodable {
    static var type: PostgresType { .float8 }
    static var arrayType: PostgresType { .float8Array }
    var binarySize: Int { 8 }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.storeBytes(of: bitPattern.bigEndian, as: UInt64.self)
    }
}

extension Timestamp: BinaryEncodable {
    static var type: PostgresType { .timestamptz }
    static var arrayType: PostgresType { .timestamptzArray }
    var binarySize: Int { 8 }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe serverMicroseconds.encode(into: target)
    }
}

extension String: BinaryEncodable {
    static var type: PostgresType { .text }
    static var arrayType: PostgresType { .textArray }
    var binarySize: Int { utf8.count }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.copyBytes(from: utf8)
    }
}

extension [UInt8]: BinaryEncodable {
    static var type: PostgresType { .bytea }
    static var arrayType: PostgresType { .byteaArray }
    var binarySize: Int { count }

    func encode(into target: UnsafeMutableRawBufferPointer) {
        unsafe target.copyBytes(from: self)
    }
}
