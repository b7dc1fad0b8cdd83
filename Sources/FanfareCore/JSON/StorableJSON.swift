/// Finds JSON that PostgreSQL's `jsonb` cannot hold: the character U+0000, and numbers beyond its `numeric`.
public enum StorableJSON {
    /// The limits of digits before and after the decimal point, and of the exponent that is parsed at all.
    private static let (digitLimit, scaleLimit, exponentLimit) = (131_072, 16_383, 1_073_741_823)

    /// Finds the first value that cannot be stored.
    ///
    /// - Parameters:
    ///   - value: any JSON.
    ///   - path: the path of the value.
    /// - Returns: the problem, with its path below `path`; nil if everything can be stored.
    public static func problem(in value: JSONValue, path: String = "") -> RuleProblem? {
        switch value {
        case .null, .bool: nil
        case .number(let number):
            fits(number)
                ? nil
                : RuleProblem(path: path, reason: "is a number out of range", hint: "PostgreSQL stores up to 1e131071")
        case .string(let text): problem(in: text, path: path)
        case .array(let elements):
            elements.enumerated().lazy.compactMap { problem(in: $1, path: "\(path)[\($0)]") }.first
        case .object(let object):
            object.members.lazy.compactMap { member in
                problem(in: member.key, path: path)
                    ?? problem(in: member.value, path: path.isEmpty ? member.key : "\(path).\(member.key)")
            }.first
        }
    }

    private static func problem(in text: String, path: String) -> RuleProblem? {
        guard text.utf8.contains(0) else { return nil }
        return RuleProblem(
            path: path,
            reason: "has the character U+0000",
            hint: "leave \\u0000 out: PostgreSQL cannot store it"
        )
    }

    /// Returns whether `numeric` can hold the number; PostgreSQL counts all written digits, including trailing zeros.
    private static func fits(_ number: JSONNumber) -> Bool {
        // Nearly all numbers are short.
        guard number.literal.utf8.count > 5 else { return true }
        let parts = number.literal.lowercased().split(separator: "e")
        let exponent = parts.count > 1 ? Int(parts[1]) ?? (exponentLimit + 1) : 0
        guard exponent.magnitude <= exponentLimit else { return false }
        let digits = parts[0].drop { $0 == "-" }.split(separator: ".")
        let fraction = digits.count > 1 ? digits[1] : ""
        guard fraction.utf8.count - exponent <= scaleLimit else { return false }
        let whole = digits[0].drop { $0 == "0" }
        let leading = whole.isEmpty ? -fraction.prefix { $0 == "0" }.utf8.count : whole.utf8.count
        let isZero = whole.isEmpty && fraction.allSatisfy { $0 == "0" }
        return isZero || leading + exponent <= digitLimit
    }
}
