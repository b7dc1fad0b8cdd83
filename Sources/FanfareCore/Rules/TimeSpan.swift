/// A duration as written in rules and configuration: `90s`, `15m`, `4h`, `7d`.
public struct TimeSpan: Hashable, Sendable, CustomStringConvertible {
    /// The longest duration: 10 years of 365 days.
    public static let limit = TimeSpan(seconds: 10 * 365 * 86_400)
    package static let hint = "write a whole number with s, m, h or d, such as 90s, 15m, 4h or 7d"

    /// The length in whole seconds.
    public let seconds: Int64

    /// Makes a duration.
    ///
    /// - Parameter seconds: its length.
    public init(seconds: Int64) { self.seconds = seconds }

    /// Parses a duration.
    ///
    /// - Parameter text: a whole number, at least 1 and at most ``limit``, with `s`, `m`, `h` or `d`; nil for anything
    ///   else.
    public init?(_ text: String) {
        let digits = text.dropLast()
        guard let factor = Self.unit(text.last), !digits.isEmpty, digits.utf8.allSatisfy({ (48...57).contains($0) }),
            let count = Int64(digits)
        else { return nil }
        let (seconds, overflow) = count.multipliedReportingOverflow(by: factor)
        guard !overflow, seconds >= 1, seconds <= Self.limit.seconds else { return nil }
        self.seconds = seconds
    }

    /// The shortest text that parses as this duration.
    public var description: String {
        for (factor, unit) in [(86_400, "d"), (3600, "h"), (60, "m")] as [(Int64, String)]
        where seconds % factor == 0 && seconds > 0 {
            return "\(seconds / factor)\(unit)"
        }
        return "\(seconds)s"
    }

    private static func unit(_ character: Character?) -> Int64? {
        switch character {
        case "s": 1
        case "m": 60
        case "h": 3600
        case "d": 86_400
        default: nil
        }
    }
}
