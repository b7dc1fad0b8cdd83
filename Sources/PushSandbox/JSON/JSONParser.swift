/// Parses JSON (RFC 8259), several times faster than `JSONDecoder`, which would be most of a request's cost.
struct JSONParser {
    /// The deepest nesting of arrays and objects.
    private static let deepest = 100

    private struct Malformed: Error {}

    private let bytes: [UInt8]
    private var position = 0

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Parses a whole text.
    ///
    /// - Parameter bytes: the text in UTF-8.
    /// - Returns: the value, or nil if it is not JSON or nested too deeply.
    static func parse(_ bytes: some Sequence<UInt8>) -> JSONValue? {
        var parser = JSONParser(Array(bytes))
        guard let value = try? parser.value(depth: 0) else { return nil }
        parser.skipBlanks()
        return parser.position == parser.bytes.count ? value : nil
    }

    private mutating func value(depth: Int) throws(Malformed) -> JSONValue {
        skipBlanks()
        switch peek {
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
        case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    // MARK: - Structure

    private mutating func object(depth: Int) throws(Malformed) -> JSONObject {
        guard depth <= Self.deepest else { throw Malformed() }
        position += 1
        var object = JSONObject()
        skipBlanks()
        if take(UInt8(ascii: "}")) { return object }
        repeat {
            skipBlanks()
            guard peek == UInt8(ascii: "\"") else { throw Malformed() }
            let name = try string()
            skipBlanks()
            guard take(UInt8(ascii: ":")) else { throw Malformed() }
            object.append(name, try value(depth: depth))
            skipBlanks()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else { throw Malformed() }
        return object
    }

    private mutating func array(depth: Int) throws(Malformed) -> [JSONValue] {
        guard depth <= Self.deepest else { throw Malformed() }
        position += 1
        var array: [JSONValue] = []
        skipBlanks()
        if take(UInt8(ascii: "]")) { return array }
        repeat {
            array.append(try value(depth: depth))
            skipBlanks()
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else { throw Malformed() }
        return array
    }

    private mutating func word(_ word: StaticString, _ value: JSONValue) throws(Malformed) -> JSONValue {
        for byte in "\(word)".utf8 {
            guard take(byte) else { throw Malformed() }
        }
        return value
    }

    // MARK: - Numbers

    private mutating func number() throws(Malformed) -> JSONValue {
        let start = position
        let isNegative = take(UInt8(ascii: "-"))
        let first = position
        skipDigits()
        guard position > first, position == first + 1 || bytes[first] != UInt8(ascii: "0") else { throw Malformed() }
        let isInteger = try !fractionOrExponent()
        if isInteger, position - first <= 18 {
            var magnitude: Int64 = 0
            for byte in bytes[first..<position] {
                magnitude = magnitude * 10 + Int64(byte - UInt8(ascii: "0"))
            }
            return .integer(isNegative ? -magnitude : magnitude)
        }
        let text = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let integer = Int64(text) { return .integer(integer) }
        guard let number = Double(text) else { throw Malformed() }
        return .number(number)
    }

    private mutating func fractionOrExponent() throws(Malformed) -> Bool {
        let start = position
        if take(UInt8(ascii: ".")) {
            let digits = position
            skipDigits()
            guard position > digits else { throw Malformed() }
        }
        if take(UInt8(ascii: "e")) || take(UInt8(ascii: "E")) {
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
            let digits = position
            skipDigits()
            guard position > digits else { throw Malformed() }
        }
        return position > start
    }

    private mutating func skipDigits() {
        while let byte = peek, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
            position += 1
        }
    }

    // MARK: - Strings

    private mutating func string() throws(Malformed) -> String {
        position += 1
        let start = position
        while let byte = peek {
            switch byte {
            case UInt8(ascii: "\""):
                defer { position += 1 }
                return try text(bytes[start..<position])
            case UInt8(ascii: "\\"): return try escapedString(from: start)
            case ..<0x20: throw Malformed()
            default: position += 1
            }
        }
        throw Malformed()
    }

    private mutating func escapedString(from start: Int) throws(Malformed) -> String {
        var unescaped = Array(bytes[start..<position])
        while let byte = peek {
            position += 1
            switch byte {
            case UInt8(ascii: "\""): return try text(unescaped)
            case UInt8(ascii: "\\"): try escape(into: &unescaped)
            case ..<0x20: throw Malformed()
            default: unescaped.append(byte)
            }
        }
        throw Malformed()
    }

    private mutating func escape(into unescaped: inout [UInt8]) throws(Malformed) {
        guard let byte = peek else { throw Malformed() }
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): unescaped.append(byte)
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0c)
        case UInt8(ascii: "n"): unescaped.append(0x0a)
        case UInt8(ascii: "r"): unescaped.append(0x0d)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"): unescaped.append(contentsOf: String(try scalar()).utf8)
        default: throw Malformed()
        }
    }

    /// Reads the scalar of `\uXXXX`, or of two of them that form a surrogate pair.
    private mutating func scalar() throws(Malformed) -> Unicode.Scalar {
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xdc00, take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw Malformed() }
        let low = try codeUnit()
        guard (0xdc00..<0xe000).contains(low),
            let scalar = Unicode.Scalar(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00))
        else { throw Malformed() }
        return scalar
    }

    private mutating func codeUnit() throws(Malformed) -> UInt32 {
        guard position + 4 <= bytes.count,
            bytes[position..<position + 4].allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
            let unit = UInt32(String(decoding: bytes[position..<position + 4], as: UTF8.self), radix: 16)
        else { throw Malformed() }
        position += 4
        return unit
    }

    private func text(_ bytes: some Sequence<UInt8>) throws(Malformed) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw Malformed() }
        return text
    }

    // MARK: - Bytes

    private var peek: UInt8? {
        position < bytes.count ? bytes[position] : nil
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard peek == byte else { return false }
        position += 1
        return true
    }

    private mutating func skipBlanks() {
        while let byte = peek, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 {
            position += 1
        }
    }
}
