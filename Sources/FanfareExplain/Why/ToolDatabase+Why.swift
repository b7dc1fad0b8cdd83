public import FanfareCore
public import FanfareRecords
public import FanfareTools
internal import PostgresClient

extension ToolDatabase {
    /// Explains what happened to an event for one user.
    ///
    /// - Parameters:
    ///   - eventID: the event.
    ///   - user: the user's id.
    ///   - app: only rows about this app; nil for all.
    /// - Returns: the result, and each step in the order of time.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown app.
    public func why(eventID: Int64, user: String, app: String?) async throws(ToolError) -> WhyReport {
        try await checkApp(app)
        return try await run { connection throws(PostgresError) in
            let verdict = try connection.run(SQL.whyVerdicts(eventID, user, app)).first
            let rows = try connection.run(SQL.whyRows(eventID, user, app))
            guard let verdict else { throw PostgresError(.protocolMismatch, message: "the server returned no verdict") }
            return WhyReport(user: user, verdict: verdict, rows: rows)
        }
    }

    /// Returns the results of a user's last events.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: only rows about this app; nil for all.
    /// - Returns: at most twenty, the newest first; if there are none, one row without an event, about the user.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown app.
    public func why(user: String, app: String?) async throws(ToolError) -> [WhyVerdict] {
        try await checkApp(app)
        return try await rows(of: SQL.whyVerdicts(nil, user, app))
    }

    /// Refuses an unknown app, which would look like a user without devices.
    private func checkApp(_ app: String?) async throws(ToolError) {
        guard let app else { return }
        let names = try await rows(of: SQL.appNames())
        guard !names.contains(app) else { return }
        throw ToolError(.usage, "there is no app \(app)", hint: "There are \(names.joined(separator: ", ")).")
    }
}

/// What happened to an event for one user.
public struct WhyReport: Sendable {
    /// The user's id.
    public let user: String
    /// The result.
    public let verdict: WhyVerdict
    /// Each step, in the order of time.
    public let rows: [WhyRow]

    /// The report as JSON.
    public var json: JSONValue {
        [
            "event_id": JSONValue(id: verdict.eventID),
            "event_type": JSONValue(orNull: verdict.eventType),
            "user_id": .string(user), "verdict": verdict.json, "steps": .array(rows.map(\.json)),
        ]
    }
}

extension WhyRow {
    fileprivate var json: JSONValue {
        [
            "at": JSONValue(at), "rule": JSONValue(orNull: rule), "device_id": JSONValue(id: deviceID),
            "provider": JSONValue(orNull: provider), "attempt": attempt.map { JSONValue(Int64($0)) } ?? .null,
            "outcome": .string(outcome), "reason": JSONValue(orNull: reason),
            "until": until.map { JSONValue($0) } ?? .null, "detail": JSONValue(orNull: detail),
        ]
    }
}

extension WhyVerdict {
    /// The verdict as JSON.
    public var json: JSONValue {
        [
            "event_id": JSONValue(id: eventID), "event_type": JSONValue(orNull: eventType),
            "at": JSONValue(at),
            "rule": JSONValue(orNull: rule), "outcome": .string(outcome), "reason": JSONValue(orNull: reason),
            "until": until.map { JSONValue($0) } ?? .null, "detail": JSONValue(orNull: detail),
        ]
    }

    /// Whether the event or the user does not exist.
    public var isAbsence: Bool { ["no_event", "no_user"].contains(reason) && eventType == nil }
}
