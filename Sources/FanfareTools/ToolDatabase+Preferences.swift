internal import FanfareCore
public import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// Says whether a user gets nothing of a category.
    ///
    /// - Parameters:
    ///   - category: its name; `*` for all that have one.
    ///   - user: the user's id.
    ///   - app: the app.
    ///   - isOptedOut: whether nothing of it is sent.
    /// - Throws: ``ToolError``, also if there can be no such category.
    public func setPreference(
        _ category: String,
        of user: String,
        app: String,
        isOptedOut: Bool
    ) async throws(ToolError) {
        let statement = SetPreference(app: app, user: user, category: category, isOptedOut: isOptedOut)
        _ = try await change { connection throws(PostgresError) in
            try connection.run(statement).count
        } action: { _ in
            ToolAction("preference.set", "\(app)/\(category)")
        }
    }

    /// Has a user get nothing of a category for a while.
    ///
    /// - Parameters:
    ///   - category: its name; `*` for all that have one.
    ///   - user: the user's id.
    ///   - app: the app.
    ///   - until: a duration from now, such as `8h`, or a time as PostgreSQL reads it; nil to end it.
    /// - Throws: ``ToolError``, also if there can be no such category, or the text is no time.
    public func snooze(_ category: String, of user: String, app: String, until: String?) async throws(ToolError) {
        let span = until.flatMap { TimeSpan($0) }
        let statement = SnoozeUser(
            app: app,
            user: user,
            until: span == nil ? until : nil,
            seconds: span?.seconds,
            category: category
        )
        _ = try await change { connection throws(PostgresError) in
            try connection.run(statement).count
        } action: { _ in
            ToolAction("preference.snooze", "\(app)/\(category)")
        }
    }

    /// What a user said.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app.
    /// - Returns: by category; none if nothing was said, or there is no such user.
    /// - Throws: ``ToolError``.
    public func preferences(of user: String, app: String) async throws(ToolError) -> [UserPreference] {
        try await run { connection throws(PostgresError) in
            try connection.run(UserPreferences(app: app, user: user))
        }
    }
}
