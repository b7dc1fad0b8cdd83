/// Repairs PEM text that variables, editors or forms have changed, without changing the key.
enum PEMText {
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    private static let newline = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    /// Returns the text as OpenSSL reads it: without byte order mark, surrounding quotes and literal `\n`, and with
    /// each marker on a line of its own.
    ///
    /// - Parameter bytes: the content of a file.
    /// - Returns: nil if the text needs no repair or is not PEM, as with JSON and PKCS #12.
    static func repaired(_ bytes: [UInt8]) -> [UInt8]? {
        let isMarked = bytes.starts(with: mark)
        let text = isMarked ? bytes.dropFirst(mark.count) : bytes[...]
        guard let first = text.first(where: { $0 > 0x20 }), [UInt8(ascii: "-"), UInt8(ascii: "\"")].contains(first),
            position(of: "-----BEGIN ", in: text) != nil
        else { return isMarked ? Array(text) : nil }
        let lines = withLineBreaks(unescaped(text))
        return lines == bytes ? nil : lines
    }

    /// Repairs a text that is known to be a key.
    static func text(_ text: String) -> [UInt8] {
        let bytes = Array(text.utf8)
        return repaired(bytes) ?? bytes
    }

    /// Replaces literal `\n` and `\r`, and removes quotes and carriage returns.
    private static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = text.startIndex
        while index < text.endIndex {
            let byte = text[index]
            let next = index + 1 < text.endIndex ? text[index + 1] : 0
            switch (byte, next) {
            case (UInt8(ascii: "\\"), UInt8(ascii: "n")), (UInt8(ascii: "\\"), UInt8(ascii: "r")):
                if result.last != newline { result.append(newline) }
                index += 1
            case (carriageReturn, newline), (UInt8(ascii: "\""), _): break
            case (carriageReturn, _): result.append(newline)
            default: result.append(byte)
            }
            index += 1
        }
        return result
    }

    /// Inserts missing line breaks after `-----BEGIN …-----`, before `-----END` and after its line.
    private static func withLineBreaks(_ text: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count + 8)
        var rest = text[...]
        while let begin = position(of: "-----BEGIN ", in: rest),
            let body = position(of: "-----", in: rest[(begin + 11)...]).map({ $0 + 5 }),
            let end = position(of: "-----END ", in: rest[body...]),
            let after = position(of: "-----", in: rest[(end + 9)...]).map({ $0 + 5 })
        {
            result += rest[..<begin].contains { $0 > 0x20 } ? rest[..<begin] : []
            if let last = result.last, last != newline { result.append(newline) }
            result += rest[begin..<body] + [newline]
            let lines = rest[body..<end]
            let isOneLine = !lines.drop { $0 <= 0x20 }.contains(newline)
            // Blanks may have replaced line breaks; base64 contains none.
            result += isOneLine ? wrapped(lines.filter { $0 > 0x20 }) : Array(lines.drop { $0 <= 0x20 })
            if result.last != newline { result.append(newline) }
            result += rest[end..<after]
            rest = rest[after...]
            if let next = rest.first, next != newline { result.append(newline) }
        }
        return result + rest
    }

    private static func wrapped(_ base64: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        for start in stride(from: 0, to: base64.count, by: 64) {
            result += base64[start..<min(start + 64, base64.count)] + [newline]
        }
        return result
    }

    private static func position(of text: StaticString, in bytes: ArraySlice<UInt8>) -> Int? {
        let wanted = Array(text.description.utf8)
        guard bytes.count >= wanted.count else { return nil }
        return (bytes.startIndex...bytes.endIndex - wanted.count).first { start in
            bytes[start..<start + wanted.count].elementsEqual(wanted)
        }
    }
}
