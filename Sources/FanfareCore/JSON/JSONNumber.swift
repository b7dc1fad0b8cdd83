/// A JSON number with its text as written, so that it can be passed on unchanged.
public struct JSONNumber: Sendable {
    /// The text, as RFC 8259 section 6 allows it: `1.0`, `-3`, `6.02e23`.
    public let literal: String

    /// Wraps a text that a parser has checked.
    ///
    /// - Parameter literal: the checked text.
    init(uncheckedLiteral literal: String) { self.literal = literal }

    /// Makes a number of an integer.
    ///
    /// - Parameter value: any integer.
    public init(_ value: some BinaryInteger) { literal = String(value) }

    /// The value as a 64-bit integer, if it is exactly one: `3`, `3.0` and `30e-1` are, `3.5` and 2^63 are not.
    public var integer: Int64? {
        if let plain = Int64(literal) { return plain }
        let decimal = Decimal(literal)
        guard decimal.exponent >= 0, decimal.exponent <= 19 else { return nil }
        var digits = decimal.isNegative ? "-" : ""
        digits += String(decoding: decimal.digits, as: UTF8.self)
        digits += String(repeating: "0", count: decimal.exponent)
        return decimal.digits.isEmpty ? 0 : Int64(digits)
    }
}

extension JSONNumber: Hashable {
    /// Compares by value, exactly, for any size: `1.0 == 1`, `9007199254740993 != 9007199254740992`.
    ///
    /// - Parameters:
    ///   - left: a number.
    ///   - right: another.
    /// - Returns: whether both are equal.
    public static func == (left: JSONNumber, right: JSONNumber) -> Bool {
        left.literal == right.literal || Decimal(left.literal) == Decimal(right.literal)
    }

    /// Hashes by value.
    ///
    /// - Parameter hasher: the hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(Decimal(literal)) }
}

extension JSONNumber {
    /// A number in a normal form, in which equal numbers have equal parts.
    ///
    /// Sign, significant digits without leading or trailing zeros, and power of ten. Exponents beyond ±10^17 are
    /// clamped.
    private struct Decimal: Hashable {
        var isNegative = false
        var digits: [UInt8] = []
        var exponent = 0

        init(_ literal: String) {
            var written = 0
            var fractionDigits = 0
            var inFraction = false
            var rest = literal.utf8[...]
            if rest.first == UInt8(ascii: "-") {
                isNegative = true
                rest.removeFirst()
            }
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: ".") {
                    inFraction = true
                } else if byte == UInt8(ascii: "e") || byte == UInt8(ascii: "E") {
                    written = Self.exponent(rest)
                    break
                } else {
                    if inFraction { fractionDigits += 1 }
                    if byte != UInt8(ascii: "0") || !digits.isEmpty { digits.append(byte) }
                }
            }
            exponent = written - fractionDigits
            while digits.last == UInt8(ascii: "0") {
                digits.removeLast()
                exponent += 1
            }
            if digits.isEmpty {
                exponent = 0
                isNegative = false
            }
        }

        private static func exponent(_ text: Substring.UTF8View) -> Int {
            let limit = 100_000_000_000_000_000
            let isNegative = text.first == UInt8(ascii: "-")
            var value = 0
            for byte in text where byte.isDigit {
                value = min(value * 10 + Int(byte - UInt8(ascii: "0")), limit)
                if value == limit { break }
            }
            return isNegative ? -value : value
        }
    }
}
