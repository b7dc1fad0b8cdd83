import FanfareTools

extension CredentialExpiry {
    /// Formats credentials as a table for people; empty if there are none.
    ///
    /// - Parameters:
    ///   - all: the credentials.
    ///   - now: seconds since 1970.
    /// - Returns: the table.
    static func text(_ all: [CredentialExpiry], now: Int64) -> String {
        guard !all.isEmpty else { return "" }
        var table = TextTable(["app", "credential", "ends", "left"])
        for item in all {
            let left = item.endsAt.map { "\(max(0, $0 - now) / 86_400)d" } ?? ""
            table.append([
                item.app ?? "", item.credential, item.problem ?? item.endsAt.map(date) ?? "does not expire",
                item.problem == nil ? left : "",
            ])
        }
        return table.text
    }
}
