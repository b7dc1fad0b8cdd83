extension JSONValue {
    /// Parses a JSON text strictly by RFC 8259; an object with a repeated key is refused too.
    ///
    /// - Parameters:
    ///   - bytes: the text in UTF-8; a leading byte order mark is skipped (RFC 8259 section 8.1).
    ///   - limits: the limits of size and nesting.
    /// - Throws: `JSONSyntaxError` with line and column.
    public init(parsing bytes: [UInt8], limits: JSONLimits = .document) throws(JSONSyntaxError) {
        var parser = JSONParser(bytes: bytes, limits: limits)
        self = try parser.parseDocument()
    }

    /// Parses a JSON text given as a string; see ``init(parsing:limits:)-([UInt8],_)``.
    ///
    /// - Parameters:
    ///   - text: the text.
    ///   - limits: the limits of size and nesting.
    /// - Throws: `JSONSyntaxError` with line and column.
    public init(parsing text: String, limits: JSONLimits = .document) throws(JSONSyntaxError) {
        try self.init(parsing: Array(text.utf8), limits: limits)
    }
}

/// A recursive descent parser; its recursion is bounded by `limits.levels`.
struct JSONParser {
    let bytes: [UInt8]
    let limits: JSONLimits
    var position = 0

    init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { position = 3 }
    }

    mutating func parseDocument() throws(JSONSyntaxError) -> JSONValue {
        guard bytes.count <= limits.bytes else { throw error(.tooLarge(limit: limits.bytes)) }
        skipWhitespace()
        let value = try parseValue(level: 1)
        skipWhitespace()
        guard position == bytes.count else { throw error(.trailingText) }
        return value
    }

    private mutating func parseValue(level: Int) throws(JSONSyntaxError) -> JSONValue {
        switch try peek() {
        case UInt8(ascii: "{"): return .object(try parseObject(level: level))
        case UInt8(ascii: "["): return .array(try parseArray(level: level))
        case UInt8(ascii: "\""): return .string(try parseString())
        case UInt8(ascii: "t"): return try parseWord("true", as: .bool(true))
        case UInt8(ascii: "f"): return try parseWord("false", as: .bool(false))
        case UInt8(ascii: "n"): return try parseWord("null", as: .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try parseNumber())
        default: throw error(.unexpectedByte)
        }
    }

    private mutating func parseObject(level: Int) throws(JSONSyntaxError) -> JSONObject {
        guard level <= limits.levels else { throw error(.tooDeep(limit: limits.levels)) }
        position += 1
        skipWhitespace()
        if try peek() == UInt8(ascii: "}") {
            position += 1
            return JSONObject()
        }
        var members: [JSONObject.Member] = []
        var keys = KeySet()
        while true {
            guard try peek() == UInt8(ascii: "\"") else { throw error(.unexpectedByte) }
            let start = position
            let key = try parseString()
            guard keys.insert(key, besides: members) else { throw error(.duplicateKey, at: start) }
            skipWhitespace()
            guard try peek() == UInt8(ascii: ":") else { throw error(.unexpectedByte) }
            position += 1
            skipWhitespace()
            members.append(JSONObject.Member(key: key, value: try parseValue(level: level + 1)))
            if try isLast(closing: UInt8(ascii: "}")) { return JSONObject(uncheckedMembers: members) }
        }
    }

    private mutating func parseArray(level: Int) throws(JSONSyntaxError) -> [JSONValue] {
        guard level <= limits.levels else { throw error(.tooDeep(limit: limits.levels)) }
        position += 1
        skipWhitespace()
        if try peek() == UInt8(ascii: "]") {
            position += 1
            return []
        }
        var elements: [JSONValue] = []
        while true {
            elements.append(try parseValue(level: level + 1))
            if try isLast(closing: UInt8(ascii: "]")) { return elements }
        }
    }

    /// Parses the end of an element: a comma and the following space, or the closing bracket.
    private mutating func isLast(closing: UInt8) throws(JSONSyntaxError) -> Bool {
        skipWhitespace()
        let byte = try peek()
        guard byte == closing || byte == UInt8(ascii: ",") else { throw error(.unexpectedByte) }
        position += 1
        if byte == closing { return true }
        skipWhitespace()
        return false
    }

    private mutating func parseWord(_ word: StaticString, as value: JSONValue) throws(JSONSyntaxError) -> JSONValue {
        for expected in word.description.utf8 {
            guard try peek() == expected else { throw error(.unexpectedByte) }
            position += 1
        }
        return value
    }
}

extension JSONParser {
    private mutating func parseNumber() throws(JSONSyntaxError) -> JSONNumber {
        let start = position
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let integerStart = position
        let integerDigits = skipDigits()
        let hasLeadingZero = integerDigits > 1 && bytes[integerStart] == UInt8(ascii: "0")
        guard integerDigits > 0, !hasLeadingZero else { throw error(.malformedNumber, at: start) }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard skipDigits() > 0 else { throw error(.malformedNumber, at: start) }
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard skipDigits() > 0 else { throw error(.malformedNumber, at: start) }
        }
        return JSONNumber(uncheckedLiteral: String(decoding: bytes[start..<position], as: UTF8.self))
    }

    private mutating func skipDigits() -> Int {
        let start = position
        while position < bytes.count, bytes[position].isDigit { position += 1 }
        return position - start
    }

    private mutating func skipWhitespace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x0A, 0x0D, 0x09: position += 1
            default: return
            }
        }
    }

    func peek() throws(JSONSyntaxError) -> UInt8 {
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        return bytes[position]
    }

    func error(_ reason: JSONSyntaxError.Reason, at offset: Int? = nil) -> JSONSyntaxError {
        let before = bytes[..<min(offset ?? position, bytes.count)]
        let line = 1 + before.count { $0 == 0x0A }
        let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
        return JSONSyntaxError(reason: reason, line: line, column: before.endIndex - lineStart + 1)
    }
}

/// The keys of an object so far: a list for a few, a set for many, so that a payload with thousands of keys does not
/// take quadratic time.
private struct KeySet {
    private static let walkLimit = 16
    private var seen: Set<ExactText> = []

    mutating func insert(_ key: String, besides members: [JSONObject.Member]) -> Bool {
        if members.count < Self.walkLimit { return !members.contains { $0.key.isExactly(key) } }
        if seen.isEmpty { seen = Set(members.map { ExactText($0.key) }) }
        return seen.insert(ExactText(key)).inserted
    }
}
