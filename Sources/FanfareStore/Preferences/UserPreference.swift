package import PostgresClient

/// What a user said of one category.
public struct UserPreference: Sendable {
    /// Its name; `*` for all that have one.
    public let category: String
    /// Whether nothing of it is sent.
    public let isOptedOut: Bool
    /// Until when nothing of it is sent; nil unless it is snoozed now.
    package let snoozedUntil: Timestamp?
}
