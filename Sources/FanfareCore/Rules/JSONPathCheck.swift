/// Checks jsonpaths as far as is possible without PostgreSQL, which parses them later.
///
/// Refuses more than one `**`, because five of them on 360 bytes take seconds and hundreds of MiB, and variables, which
/// are never defined and raise an error even in silent evaluation.
enum JSONPathCheck {
    /// The maximum length of a path in bytes.
    static let lengthLimit = 4096

    static func check(_ text: String, path: String) throws(RuleProblem) {
        let bytes = Array(text.utf8)
        guard !bytes.allSatisfy({ $0 == 0x20 }) else {
            throw RuleProblem(path: path, reason: "is empty", hint: "write a jsonpath such as $.customer_id")
        }
        guard bytes.count <= lengthLimit else {
            throw RuleProblem(path: path, reason: "is longer than \(lengthLimit) bytes", hint: "shorten the jsonpath")
        }
        let code = try blanked(bytes, path: path)
        var recursions = 0
        var position = 0
        while position < code.count {
            let next = position + 1 < code.count ? code[position + 1] : 0
            if code[position] == UInt8(ascii: "*"), next == UInt8(ascii: "*") {
                recursions += 1
                position += 1
            } else if code[position] == UInt8(ascii: "$"), startsName(next) {
                throw RuleProblem(path: path, reason: "has a $variable", hint: "write $.name for a key of the root")
            }
            position += 1
        }
        guard recursions <= 1 else {
            throw RuleProblem(path: path, reason: "has more than one **", hint: "name the keys in between")
        }
    }

    /// Returns whether a byte after `$` starts a variable: a quote, or the first character of an identifier.
    private static func startsName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "_"), 0x80...: true
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"):
            true
        default: false
        }
    }

    /// Returns the path with comments and quoted text replaced by spaces; the quotes stay.
    private static func blanked(_ bytes: [UInt8], path: String) throws(RuleProblem) -> [UInt8] {
        var result = bytes
        var position = 0
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "\"") {
                position += 1
                while position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
                    let length = bytes[position] == UInt8(ascii: "\\") ? 2 : 1
                    for index in position..<min(position + length, bytes.count) { result[index] = 0x20 }
                    position += length
                }
                guard position < bytes.count else {
                    throw RuleProblem(path: path, reason: "has a string that is not closed", hint: "add the closing \"")
                }
            } else if bytes[position...].starts(with: "/*".utf8) {
                let start = position
                position += 2
                while position < bytes.count, !bytes[position...].starts(with: "*/".utf8) { position += 1 }
                position = min(position + 1, bytes.count - 1)
                for index in start...position { result[index] = 0x20 }
            }
            position += 1
        }
        return result
    }
}
