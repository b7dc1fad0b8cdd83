extension JSONValue {
    /// The compact JSON text.
    public var text: String { String(decoding: encoded, as: UTF8.self) }

    /// The compact JSON text, in UTF-8.
    public var encoded: [UInt8] {
        var output: [UInt8] = []
        encode(into: &output)
        return output
    }

    /// Appends the compact JSON text, in UTF-8: keys in order, numbers as written.
    ///
    /// - Parameter output: the buffer to append to.
    public func encode(into output: inout [UInt8]) {
        switch self {
        case .null: output.append(contentsOf: "null".utf8)
        case .bool(let flag): output.append(contentsOf: (flag ? "true" : "false").utf8)
        case .number(let number): output.append(contentsOf: number.literal.utf8)
        case .string(let text): JSONValue.encode(text, into: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.encode(into: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let object):
            output.append(UInt8(ascii: "{"))
            for (index, member) in object.members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                JSONValue.encode(member.key, into: &output)
                output.append(UInt8(ascii: ":"))
                member.value.encode(into: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// Appends a string as JSON, in quotes; escapes only what RFC 8259 section 7 requires.
    ///
    /// - Parameters:
    ///   - text: the string.
    ///   - output: the buffer to append to.
    package static func encode(_ text: String, into output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        encodeContent(of: text, into: &output)
        output.append(UInt8(ascii: "\""))
    }

    /// Appends a JSON string without its quotes.
    ///
    /// - Parameters:
    ///   - text: the string.
    ///   - output: the buffer to append to.
    package static func encodeContent(of text: String, into output: inout [UInt8]) {
        // Nearly every string needs no escapes, and is copied at once.
        if !text.utf8.contains(where: needsEscape) {
            output.append(contentsOf: text.utf8)
            return
        }
        for byte in text.utf8 {
            if needsEscape(byte) { encodeEscape(byte, into: &output) } else { output.append(byte) }
        }
    }

    private static func needsEscape(_ byte: UInt8) -> Bool {
        byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
    }

    private static func encodeEscape(_ byte: UInt8, into output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x09: output.append(UInt8(ascii: "t"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): output.append(byte)
        default:
            let low = byte & 0x0F
            output.append(contentsOf: byte < 0x10 ? "u000".utf8 : "u001".utf8)
            output.append(low < 10 ? UInt8(ascii: "0") + low : UInt8(ascii: "a") + low - 10)
        }
    }
}
