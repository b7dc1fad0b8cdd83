import FanfareRecords
import FanfareTools
import PostgresClient

extension APITokenRow {
    /// Formats tokens as a table.
    ///
    /// - Parameter tokens: the rows.
    /// - Returns: the table.
    static func table(_ tokens: [APITokenRow]) -> String {
        var table = TextTable(["id", "name", "scopes", "app", "created", "last used", "state"])
        for token in tokens {
            let state = token.revokedAt != nil ? "revoked" : token.isValid ? "valid" : "expired"
            table.append([
                "\(token.id)", token.name.printable, token.scopes.joined(separator: " "), token.app ?? "all",
                token.createdAt.rfc3339, token.usedAt?.rfc3339 ?? "never", state,
            ])
        }
        return table.text
    }
}
