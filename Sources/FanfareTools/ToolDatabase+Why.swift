internal import FanfareCore
public import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// What happened to an event for one user.
    ///
    /// - Parameters:
    ///   - eventID: the event.
    ///   - user: the user's id.
    ///   - app: only what concerns this app; nil for all.
    /// - Returns: what it came to, and each step on the way in order of time.
    /// - Throws: ``ToolError``; of kind `usage` if no app of that name is there.
    public func why(eventID: Int64, user: String, app: String?) async throws(ToolError) -> WhyReport {
        try await checkApp(app)
        return try await run { connection throws(PostgresError) in
            let verdict = try connection.run(WhyVerdicts(eventID: eventID, user: user, app: app)).first
            let rows = try connection.run(WhyRows(eventID: eventID, user: user, app: app))
            guard let verdict else { throw PostgresError(.protocolMismatch, message: "the server returned no verdict") }
            return WhyReport(user: user, verdict: verdict, rows: rows)
        }
    }

    /// What the last events of a user came to.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: only what concerns this app; nil for all.
    /// - Returns: twenty at most, the newest first; where there are none, one line without an event that tells what is known of the user.
    /// - Throws: ``ToolError``; of kind `usage` if no app of that name is there.
    public func why(user: String, app: String?) async throws(ToolError) -> [WhyVerdict] {
        try await checkApp(app)
        return try await run { connection throws(PostgresError) in
            try connection.run(WhyVerdicts(eventID: nil, user: user, app: app))
        }
    }

    /// A mistyped app would look as if nobody had a device.
    private func checkApp(_ app: String?) async throws(ToolError) {
        guard let app else { return }
        let names = try await run { connection throws(PostgresError) in try connection.run(AppNames()) }
        guard !names.contains(app) else { return }
        throw ToolError(.usage, "there is no app \(app)", hint: "There are \(names.joined(separator: ", ")).")
    }
}
