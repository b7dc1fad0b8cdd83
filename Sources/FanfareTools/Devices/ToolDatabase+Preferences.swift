internal import FanfareCore
public import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Opts a user out of a category, or in again.
    ///
    /// - Parameters:
    ///   - category: the category's name; `*` for all pushes that have a category.
    ///   - user: the user's id.
    ///   - app: the app.
    ///   - isOptedOut: whether the user is opted out.
    /// - Throws: ``ToolError``, also for an invalid category name.
    public func setPreference(
        _ category: String,
        of user: String,
        app: String,
        isOptedOut: Bool
    ) async throws(ToolError) {
        let statement = SQL.setPreference(app, user, category, isOptedOut)
        _ = try await change { connection throws(PostgresError) in
            try connection.run(statement).count
        } action: { _ in
            ToolAction("preference.set", "\(app)/\(category)")
        }
    }

    /// Snoozes a category for a user.
    ///
    /// - Parameters:
    ///   - category: the category's name; `*` for all pushes that have a category.
    ///   - user: the user's id.
    ///   - app: the app.
    ///   - until: a duration from now, such as `8h`, or a time as PostgreSQL reads it; nil to end the snooze.
    /// - Throws: ``ToolError``, also for an invalid category name or time.
    public func snooze(_ category: String, of user: String, app: String, until: String?) async throws(ToolError) {
        let span = until.flatMap { TimeSpan($0) }
        let statement = SQL.snoozeUser(app, user, span == nil ? until : nil, span?.seconds, category)
        _ = try await change { connection throws(PostgresError) in
            try connection.run(statement).count
        } action: { _ in
            ToolAction("preference.snooze", "\(app)/\(category)")
        }
    }

    /// Returns a user's preferences.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app.
    /// - Returns: the preferences by category; none for an unknown user.
    /// - Throws: ``ToolError``.
    public func preferences(of user: String, app: String) async throws(ToolError) -> [UserPreference] {
        try await rows(of: SQL.userPreferences(app, user))
    }
}
