package import FanfareRecords
package import FanfareTools
internal import PostgresClient

/// A user's devices, at most 200, the newest first, and the user's preferences, each with its app.
package typealias PersonDetail = (
    devices: [RegisteredDevice], preferences: [(app: String, preference: UserPreference)]
)

extension ToolDatabase {
    /// Reads a user's devices and preferences.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - apps: the apps whose preferences are read.
    ///   - app: the app whose devices are read; nil for all.
    /// - Returns: the devices and preferences.
    /// - Throws: ``ToolError``.
    package func person(_ user: String, apps: [String], app: String?) async throws(ToolError) -> PersonDetail {
        try await run { connection throws(PostgresError) in
            let devices = try connection.run(SQL.userDevices(user, app))
            var preferences: [(app: String, preference: UserPreference)] = []
            for name in apps where name == app ?? name {
                preferences += try connection.run(SQL.userPreferences(name, user)).map { (name, $0) }
            }
            return (devices, preferences)
        }
    }

    /// Looks up one device.
    ///
    /// - Parameter id: the device's id.
    /// - Returns: nil if there is no such device.
    /// - Throws: ``ToolError``.
    package func registeredDevice(_ id: Int64) async throws(ToolError) -> RegisteredDevice? {
        let statement = SQL.findDevices(nil, nil, nil, nil, id == .max ? nil : id + 1, 1, 1, nil)
        let rows = try await rows(of: statement)
        return rows.compactMap(\.found).first { $0.id == id }
    }
}
