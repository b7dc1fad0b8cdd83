public import FanfareCore
public import FanfareRecords
internal import PostgresClient

extension UserPreference {
    /// The preference as JSON.
    public var json: JSONValue {
        [
            "category": .string(category), "opted_out": .bool(isOptedOut),
            "snoozed_until": snoozedUntil.map { JSONValue($0) } ?? .null,
        ]
    }

    /// Formats a user's preferences as a table.
    ///
    /// - Parameter preferences: the rows.
    /// - Returns: the table.
    public static func table(_ preferences: [UserPreference]) -> String {
        var table = TextTable(["category", "opted out", "snoozed until"])
        for preference in preferences {
            table.append([
                preference.category, preference.isOptedOut ? "yes" : "no", preference.snoozedUntil?.rfc3339 ?? "-",
            ])
        }
        return table.text
    }
}
