internal import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// Deletes a user's devices, subscriptions and preferences.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app.
    /// - Returns: how many devices.
    /// - Throws: ``ToolError``.
    public func forget(user: String, app: String) async throws(ToolError) -> Int64 {
        try await change { connection throws(PostgresError) in
            try connection.run(ForgetUser(app: app, user: user)).first ?? 0
        } action: {
            // Not whom: this row would remember.
            ToolAction("user.forget", app, count: $0)
        }
    }

    /// Which of some devices an app does not have.
    ///
    /// - Parameters:
    ///   - ids: the devices.
    ///   - app: the app.
    ///   - user: whose alone they may be; nil for anybody's.
    /// - Returns: the ids of others' devices, and of none.
    /// - Throws: ``ToolError``.
    public func devices(_ ids: [Int64], notOf app: String, user: String?) async throws(ToolError) -> [Int64] {
        // As whoever runs the program: who may subscribe devices need not be one who sees them.
        var own = self
        own.forgetCaller()
        return try await own.run { connection throws(PostgresError) in
            try connection.run(DevicesOfOthers(ids: ids, app: app, user: user))
        }
    }
}
