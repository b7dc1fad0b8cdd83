package import FanfareStore
internal import PostgresClient

/// A user as far as the tables of devices and preferences know.
package struct PersonDetail: Sendable {
    /// At most 200, the newest first.
    package let devices: [RegisteredDevice]
    /// What was said, with the app it was said in.
    package let preferences: [(app: String, preference: UserPreference)]

    /// Puts together what is known.
    package init(devices: [RegisteredDevice], preferences: [(app: String, preference: UserPreference)]) {
        (self.devices, self.preferences) = (devices, preferences)
    }
}

extension ToolDatabase {
    /// The names of all apps.
    ///
    /// - Throws: ``ToolError``.
    package func appNames() async throws(ToolError) -> [String] {
        try await run { connection throws(PostgresError) in try connection.run(AppNames()) }
    }

    /// Tells of a user's devices and preferences.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - apps: in which.
    ///   - app: the only one whose devices are asked for; nil for all.
    /// - Returns: what is known.
    /// - Throws: ``ToolError``.
    package func person(_ user: String, apps: [String], app: String?) async throws(ToolError) -> PersonDetail {
        try await run { connection throws(PostgresError) in
            let devices = try connection.run(UserDevices(user: user, app: app))
            var preferences: [(app: String, preference: UserPreference)] = []
            for name in apps where name == app ?? name {
                preferences += try connection.run(UserPreferences(app: name, user: user)).map { (name, $0) }
            }
            return PersonDetail(devices: devices, preferences: preferences)
        }
    }

    /// Looks up one device.
    ///
    /// - Parameter id: its id.
    /// - Returns: nil if there is none.
    /// - Throws: ``ToolError``.
    package func registeredDevice(_ id: Int64) async throws(ToolError) -> RegisteredDevice? {
        let statement = FindDevices(app: nil, before: id == .max ? nil : id + 1, limit: 1, budget: 1)
        let rows = try await run { connection throws(PostgresError) in try connection.run(statement) }
        return rows.compactMap(\.found).first { $0.id == id }
    }
}
