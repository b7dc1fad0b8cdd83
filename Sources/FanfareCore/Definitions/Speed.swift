/// Parses rates in pushes a second.
package enum Speed {
    private static let range = 1...Int(DefinitionForm.speeds.upperBound)
    private static let hint = DefinitionForm.speed.hint

    /// Parses `500/s`.
    ///
    /// - Parameters:
    ///   - json: the value; nil if it is missing.
    ///   - path: its path in the definition.
    /// - Returns: a number from 1 to 1,000,000.
    /// - Throws: `RuleProblem` for anything else; for a rate per minute or hour it states the rate per second.
    package static func read(_ json: JSONValue?, path: String) throws(RuleProblem) -> Int {
        guard let text = json?.stringValue else {
            throw RuleProblem(path: path, reason: json == nil ? "is missing" : "is not a rate", hint: hint)
        }
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let isNumber = parts[0].utf8.allSatisfy { (48...57).contains($0) } && (1...9).contains(parts[0].utf8.count)
        guard parts.count == 2, isNumber, let count = Int(parts[0]), parts[0] == "\(count)",
            let seconds = ["s": 1, "m": 60, "h": 3600][parts[1]]
        else {
            throw RuleProblem(path: path, reason: "'\(text.prefix(80))' is not a rate", hint: hint)
        }
        guard seconds == 1, range.contains(count) else {
            throw RuleProblem(
                path: path,
                reason: "\(text) is \(decimal(count, by: seconds))/s",
                hint: count < seconds
                    ? "at least 1/s; for less use a cap or smaller audiences"
                    : count > range.upperBound * seconds
                        ? "at most 1000000/s; without a rate it goes as fast as it can" : hint
            )
        }
        return count
    }

    /// Returns a quotient with at most four decimals.
    private static func decimal(_ count: Int, by divisor: Int) -> String {
        let rounded = (count * 20_000 + divisor) / (2 * divisor)
        let decimals = String(String(10_000 + rounded % 10_000).dropFirst().reversed().drop { $0 == "0" }.reversed())
        return "\(rounded / 10_000)" + (decimals.isEmpty ? "" : "." + decimals)
    }
}
