internal import FanfareCore
internal import FanfareProviders

/// How fast a campaign is sent at most: pushes a second, of all daemons together.
package struct CampaignRate: Equatable, Sendable {
    private static let range = 1...1_000_000
    private static let hint = "write how many pushes a second, as in 500/s"

    /// From 1 to 1,000,000.
    package let perSecond: Int

    /// Reads `500/s`.
    ///
    /// - Parameters:
    ///   - text: as it was written.
    ///   - path: where it stands in the campaign.
    /// - Throws: `RuleProblem` for anything else; of what is by the minute or the hour it says what that is by the second.
    init(_ text: String, path: String) throws(RuleProblem) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isNumber = parts[0].utf8.allSatisfy { (48...57).contains($0) } && (1...9).contains(parts[0].utf8.count)
        guard parts.count == 2, isNumber, let count = Int(parts[0]), parts[0] == "\(count)",
            let seconds = ["s": 1, "m": 60, "h": 3600][parts[1]]
        else {
            throw RuleProblem(path: path, reason: "'\(text.prefix(80))' is no rate", hint: Self.hint)
        }
        guard seconds == 1, Self.range.contains(count) else {
            throw RuleProblem(
                path: path,
                reason: "\(text) is \(Self.decimal(count, by: seconds))/s",
                hint: count < seconds
                    ? "at least 1/s; for less use a cap or smaller audiences"
                    : count > Self.range.upperBound * seconds
                        ? "at most 1000000/s; without a rate it goes as fast as it can" : Self.hint
            )
        }
        perSecond = count
    }

    /// As it is written.
    var text: String { "\(perSecond)/s" }

    /// A quotient with at most four decimals.
    private static func decimal(_ count: Int, by divisor: Int) -> String {
        let rounded = (count * 20_000 + divisor) / (2 * divisor)
        let decimals = String(String(10_000 + rounded % 10_000).dropFirst().reversed().drop { $0 == "0" }.reversed())
        return "\(rounded / 10_000)" + (decimals.isEmpty ? "" : "." + decimals)
    }
}
