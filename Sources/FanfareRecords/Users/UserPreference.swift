package import PostgresClient

/// A user's preference for one category.
public struct UserPreference: Sendable {
    /// The category's name; `*` for all categories.
    public let category: String
    /// Whether the user opted out of it.
    public let isOptedOut: Bool
    /// When the snooze ends; nil unless it is snoozed now.
    package let snoozedUntil: Timestamp?
}
