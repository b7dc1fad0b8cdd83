/// A share as written in definitions: `1%`, `0.5%`.
public struct Percentage: Equatable, Sendable {
    /// The text as written.
    public let text: String
    /// The share in millionths, from 0 to 1,000,000, which represents every valid share exactly.
    public let perMillion: Int64

    /// The share from 0 to 1.
    public var part: Double { Double(perMillion) / 1_000_000 }

    /// Parses a share.
    ///
    /// - Parameter text: 0 to 100 with at most four decimals and `%`; nil for anything else.
    public init?(_ text: String) {
        guard let match = text.wholeMatch(of: /(0|[1-9][0-9]?|100)(?:\.([0-9]{1,4}))?%/),
            let decimals = Int64(String((match.2 ?? "") + "0000").prefix(4)), let whole = Int64(match.1),
            whole * 10_000 + decimals <= 1_000_000
        else { return nil }
        self.text = text
        perMillion = whole * 10_000 + decimals
    }
}
