public import FanfareCore
internal import FanfareStore
internal import PostgresClient

/// How far a feedback hook is.
public struct FeedbackState: Sendable {
    let row: FeedbackStateRow

    /// All of it as JSON.
    public var json: JSONValue {
        [
            "name": .string(row.name), "app": row.app.map(JSONValue.string) ?? .null,
            "outcomes": .array(row.outcomes.map(JSONValue.string)), "state": .string(row.state),
            "waiting_batches": JSONValue(row.waiting), "is_more": .bool(row.isMore),
            "lag_seconds": JSONValue(Int64(row.lagSeconds)),
            "told_at": row.toldAt.map { JSONValue($0) } ?? .null, "failures": JSONValue(Int64(row.failures)),
            "error": row.error.map(JSONValue.string) ?? .null, "lost_batches": JSONValue(row.lost),
            "daemon": row.daemon.map(JSONValue.string) ?? .null,
        ]
    }

    /// A table of hooks for people.
    ///
    /// - Parameter hooks: any number.
    /// - Returns: the text.
    public static func table(_ hooks: [FeedbackState]) -> String {
        guard !hooks.isEmpty else { return "no hook: `feedback` of the configuration names them" }
        var table = TextTable(["hook", "state", "app", "outcomes", "waiting", "lag", "told", "lost", "error"])
        for row in hooks.map(\.row) {
            table.append([
                row.name, row.state, row.app ?? "all", row.outcomes.joined(separator: ","),
                "\(row.waiting)\(row.isMore ? "+" : "")", "\(TimeSpan(seconds: Int64(row.lagSeconds)))",
                row.toldAt?.rfc3339 ?? "never", "\(row.lost)",
                row.error ?? "-",
            ])
        }
        return table.text
    }
}

extension ToolDatabase {
    /// All feedback hooks, by name.
    ///
    /// - Returns: how far each is.
    /// - Throws: ``ToolError``.
    public func feedbackHooks() async throws(ToolError) -> [FeedbackState] {
        try await run { connection throws(PostgresError) in
            try connection.run(ListFeedbackHooks()).map(FeedbackState.init)
        }
    }

    /// Has a hook told once more what was noted since then.
    ///
    /// - Parameters:
    ///   - hook: its name.
    ///   - since: since when.
    /// - Returns: how many batches have something of it.
    /// - Throws: ``ToolError``, also where there is no such hook.
    public func replayFeedback(_ hook: String, since: Since) async throws(ToolError) -> Int64 {
        try await change(since: since) { connection throws(PostgresError) in
            try connection.run(ReplayFeedback(hook: hook, since: since)).first ?? 0
        } action: { _ in
            ToolAction("feedback.replay", hook)
        }
    }

    /// Has a hook tried at once, also one that answered 410.
    ///
    /// - Parameter hook: its name.
    /// - Throws: ``ToolError``, also where there is no such hook.
    public func resumeFeedback(_ hook: String) async throws(ToolError) {
        _ = try await change { connection throws(PostgresError) in
            try connection.run(ResumeFeedback(hook: hook))
        } action: { _ in
            ToolAction("feedback.resume", hook)
        }
    }

    /// Forgets how far a hook is; one that a daemon has in its configuration begins anew.
    ///
    /// - Parameter hook: its name.
    /// - Throws: ``ToolError``, also where there is no such hook.
    public func forgetFeedback(_ hook: String) async throws(ToolError) {
        _ = try await change { connection throws(PostgresError) in
            try connection.run(ForgetFeedbackHook(hook: hook))
        } action: { _ in
            ToolAction("feedback.forget", hook)
        }
    }
}
