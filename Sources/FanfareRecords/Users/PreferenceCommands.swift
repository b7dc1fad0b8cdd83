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

extension SQL {
    /// Calls `fanfare.set_preference`.
    ///
    /// Binds: app, user, category, isOptedOut.
    package static let setPreference = Statement<Void, String, String, String, Bool>(
        "set_preference",
        "SELECT fanfare.set_preference($1, $2, $3, $4)"
    )

    /// Calls `fanfare.snooze`.
    ///
    /// Binds: app, user, until, seconds, category.
    package static let snoozeUser = Statement<Void, String, String, String?, Int64?, String>(
        "snooze_user",
        """
        SELECT fanfare.snooze($1, $2, \(timeSQL("$3", "$4")), $5)
        """
    )

    /// Reads the preferences of an app's user, by category.
    ///
    /// Binds: app, user.
    package static let userPreferences = Statement<UserPreference, String, String>(
        "user_preferences",
        """
        SELECT p.category, p.opted_out, CASE WHEN p.snoozed_until > statement_timestamp() THEN p.snoozed_until END
        FROM fanfare.preferences AS p JOIN fanfare.apps AS a ON a.id = p.app_id
        WHERE a.name = $1 AND p.user_id = $2
        ORDER BY p.category
        """,
        row: UserPreference.init
    )
}
