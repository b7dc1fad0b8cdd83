/// The trace that an event belongs to: the content of a `traceparent` (W3C Trace Context, level 1).
///
/// `fanfare.trace_context` in the schema parses the same texts, and packs them in the form that ``init(stored:)``
/// reads. `tracestate` is not kept.
public struct TraceContext: Hashable, Sendable {
    /// The first 64 bits of the trace's id.
    private let high: UInt64
    /// The last 64 bits of the trace's id.
    private let low: UInt64
    /// The id of the span that emitted the event; never 0.
    public let parentID: UInt64
    /// The flags: the sampled flag, and any flags of later levels.
    public let flags: UInt8

    private init?(high: UInt64, low: UInt64, parentID: UInt64, flags: UInt8) {
        guard high | low != 0, parentID != 0 else { return nil }
        (self.high, self.low, self.parentID, self.flags) = (high, low, parentID, flags)
    }

    /// Parses a `traceparent`; nil for a value that the specification requires to be ignored.
    ///
    /// From a later version, the fields known to this one are read.
    ///
    /// - Parameter text: a value such as `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`.
    public init?(traceparent text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.number(bytes[0..<2]), version != 0xFF,
            bytes.count == 55 || version > 0 && bytes[55] == UInt8(ascii: "-"),
            let high = Self.number(bytes[3..<19]), let low = Self.number(bytes[19..<35]),
            let parentID = Self.number(bytes[36..<52]), let flags = Self.number(bytes[53..<55])
        else { return nil }
        self.init(high: high, low: low, parentID: parentID, flags: UInt8(truncatingIfNeeded: flags))
    }

    /// Reads the stored form; nil for any other form.
    ///
    /// - Parameter stored: 16 bytes of trace id, 8 of parent id, one of flags.
    public init?(stored: [UInt8]) {
        guard stored.count == 25 else { return nil }
        func number(_ range: Range<Int>) -> UInt64 { stored[range].reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: number(0..<8), low: number(8..<16), parentID: number(16..<24), flags: stored[24])
    }

    /// Reads the stored form as hexadecimal digits; nil for any other form.
    ///
    /// - Parameter hexadecimal: 50 digits in lower case.
    public init?(hexadecimal: String) {
        let digits = Array(hexadecimal.utf8)
        guard digits.count == 50, let high = Self.number(digits[0..<16]), let low = Self.number(digits[16..<32]),
            let parentID = Self.number(digits[32..<48]), let flags = Self.number(digits[48..<50])
        else { return nil }
        self.init(high: high, low: low, parentID: parentID, flags: UInt8(truncatingIfNeeded: flags))
    }

    /// The trace's id: 32 hexadecimal digits in lower case.
    public var traceID: String { Self.digits(high, 16) + Self.digits(low, 16) }

    /// The text that parses as this value again.
    public var traceparent: String { text(parentID, flags) }

    /// Returns the `traceparent` of a request that this event causes.
    ///
    /// - Parameter spanID: the id of the request's span; not 0.
    /// - Returns: a value of version 00, with the flags that version knows.
    public func traceparent(from spanID: UInt64) -> String {
        // The sampled flag, and level 2's random flag; all other bits must be zero.
        text(spanID, flags & 0b11)
    }

    private func text(_ spanID: UInt64, _ flags: UInt8) -> String {
        "00-\(traceID)-\(Self.digits(spanID, 16))-\(Self.digits(UInt64(flags), 2))"
    }

    private static func digits(_ number: UInt64, _ count: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: count - digits.utf8.count) + digits
    }

    /// Parses lower-case hexadecimal digits; nil for any other character.
    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
        var number: UInt64 = 0
        for digit in digits {
            switch digit {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): number = number << 4 | UInt64(digit - UInt8(ascii: "0"))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): number = number << 4 | UInt64(digit - UInt8(ascii: "a") + 10)
            default: return nil
            }
        }
        return number
    }
}
