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
}
