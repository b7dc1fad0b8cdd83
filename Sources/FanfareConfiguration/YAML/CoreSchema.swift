/// The core schema of YAML 1.2 (section 10.3.2), which determines the plain scalars that are not strings.
///
/// Unlike in YAML 1.1, which the parser's own resolver uses, `yes`, `no`, `on`, `off`, `12:30` and dates are strings.
enum CoreSchema {
    /// Resolves a plain scalar.
    ///
    /// - Parameter text: a scalar without quotes.
    /// - Returns: null, a boolean, a number as written, or the text as a string.
    /// - Throws: a reason if the scalar is a number in a form that JSON does not have.
    static func resolve(plain text: String) throws(CoreSchemaError) -> YAMLValue.Content {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        default: break
        }
        let bytes = Array(text.utf8)
        if isJSONNumber(bytes) { return .number(text) }
        if isOtherNumber(bytes) { throw CoreSchemaError() }
        return .string(text)
    }

    /// Returns whether the bytes are a number of RFC 8259 section 6.
    private static func isJSONNumber(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.first == UInt8(ascii: "-") { rest.removeFirst() }
        let whole = takeDigits(&rest)
        guard whole == 1 || (whole > 1 && bytes[bytes.count - rest.count - whole] != UInt8(ascii: "0")) else {
            return false
        }
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            guard takeDigits(&rest) > 0 else { return false }
        }
        return rest.isEmpty || takeExponent(&rest)
    }

    /// Returns whether the bytes are a number of the core schema that JSON does not have: `+1`, `007`, `.5`, `1.`,
    /// `0o17`, `0x1F`, `.inf`, `.nan`.
    private static func isOtherNumber(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        if rest.starts(with: "0x".utf8) { return rest.dropFirst(2).allSatisfy(isHexDigit) && rest.count > 2 }
        if rest.starts(with: "0o".utf8) { return rest.dropFirst(2).allSatisfy(isOctalDigit) && rest.count > 2 }
        if [".nan", ".NaN", ".NAN"].contains(where: { rest.elementsEqual($0.utf8) }) { return true }
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { rest.removeFirst() }
        if [".inf", ".Inf", ".INF"].contains(where: { rest.elementsEqual($0.utf8) }) { return true }
        var digits = takeDigits(&rest)
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            digits += takeDigits(&rest)
        }
        return digits > 0 && (rest.isEmpty || takeExponent(&rest))
    }

    private static func takeExponent(_ rest: inout ArraySlice<UInt8>) -> Bool {
        guard let mark = rest.popFirst(), mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E") else { return false }
        if let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { rest.removeFirst() }
        return takeDigits(&rest) > 0 && rest.isEmpty
    }

    private static func takeDigits(_ rest: inout ArraySlice<UInt8>) -> Int {
        let count = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.count
        rest.removeFirst(count)
        return count
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool { Character(Unicode.Scalar(byte)).isHexDigit }

    private static func isOctalDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(byte)
    }
}

/// The error for a plain scalar that is a number in a form that JSON does not have.
struct CoreSchemaError: Error {
    let reason = "is a number in a form that JSON does not have; write it in decimal, or quote it if it is text"
}
