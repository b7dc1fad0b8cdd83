import FanfareRecords
import FanfareTools
import PostgresClient

extension UserPreference {
    /// Formats a user's preferences as a table.
    ///
    /// - Parameter preferences: the rows.
    /// - Returns: the table.
    static func table(_ preferences: [UserPreference]) -> String {
        var table = TextTable(["category", "opted out", "snoozed until"])
        for preference in preferences {
            table.append([
                preference.category, preference.isOptedOut ? "yes" : "no", preference.snoozedUntil?.rfc3339 ?? "-",
            ])
        }
        return table.text
    }
}
