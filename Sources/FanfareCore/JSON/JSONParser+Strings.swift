extension JSONParser {
    /// Parses a string from its opening to its closing quote.
    mutating func parseString() throws(JSONSyntaxError) -> String {
        position += 1
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                let text = try decode(bytes[start..<position], at: start)
                position += 1
                return text
            case UInt8(ascii: "\\"):
                return try parseEscapedString(from: start)
            case 0..<0x20:
                throw error(.controlCharacter)
            default:
                position += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    /// Parses a string with an escape, byte by byte.
    private mutating func parseEscapedString(from start: Int) throws(JSONSyntaxError) -> String {
        var text = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                let decoded = try decode(text[...], at: start)
                position += 1
                return decoded
            case UInt8(ascii: "\\"):
                position += 1
                try parseEscape(into: &text)
            case 0..<0x20:
                throw error(.controlCharacter)
            default:
                text.append(byte)
                position += 1
            }
        }
        throw error(.unexpectedEnd)
    }

    private mutating func parseEscape(into text: inout [UInt8]) throws(JSONSyntaxError) {
        let byte = try peek()
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"): text.append(contentsOf: String(try parseUnicodeEscape()).utf8)
        default: throw error(.malformedEscape, at: position - 2)
        }
    }

    /// Parses the digits of `\uXXXX`, and of the second half of a surrogate pair.
    private mutating func parseUnicodeEscape() throws(JSONSyntaxError) -> Unicode.Scalar {
        let start = position - 2
        let first = try parseFourHexDigits(from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00, position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw error(.loneSurrogate, at: start) }
        position += 2
        let second = try parseFourHexDigits(from: position - 2)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
        else { throw error(.loneSurrogate, at: start) }
        return scalar
    }

    private mutating func parseFourHexDigits(from start: Int) throws(JSONSyntaxError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch try peek() {
            case let byte where byte.isDigit: digit = byte - UInt8(ascii: "0")
            case let byte where byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "f"):
                digit = (byte | 0x20) - UInt8(ascii: "a") + 10
            default: throw error(.malformedEscape, at: start)
            }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }

    private func decode(_ text: ArraySlice<UInt8>, at start: Int) throws(JSONSyntaxError) -> String {
        guard let string = String(validating: text, as: UTF8.self) else { throw error(.invalidUTF8, at: start) }
        return string
    }
}
