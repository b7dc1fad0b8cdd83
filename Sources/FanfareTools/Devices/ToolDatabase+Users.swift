internal import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Deletes a user's devices, subscriptions and preferences.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app.
    /// - Returns: the number of deleted devices.
    /// - Throws: ``ToolError``.
    public func forget(user: String, app: String) async throws(ToolError) -> Int64 {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.forgetUser(app, user)).first ?? 0
        } action: {
            // The action's row must not store the user that is deleted.
            ToolAction("user.forget", app, count: $0)
        }
    }

    /// Returns those of some devices that an app does not have.
    ///
    /// - Parameters:
    ///   - ids: the devices' ids.
    ///   - app: the app.
    ///   - user: the only user whose devices count; nil for any.
    /// - Returns: the ids of devices of other apps or users, and of devices that do not exist.
    /// - Throws: ``ToolError``.
    public func devices(_ ids: [Int64], notOf app: String, user: String?) async throws(ToolError) -> [Int64] {
        // Runs with the rights of the program, because a role that may subscribe devices may lack the right to read
        // them.
        try await asProgram.rows(of: SQL.devicesOfOthers(ids, app, user))
    }
}
