public import FanfareCore
package import FanfareRecords
internal import PostgresClient

/// The progress of a feedback hook.
public struct FeedbackState: Sendable {
    package let row: FeedbackStateRow

    /// The state as JSON.
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
}

extension ToolDatabase {
    /// Returns the states of all feedback hooks, by name.
    ///
    /// - Returns: the states.
    /// - Throws: ``ToolError``.
    public func feedbackHooks() async throws(ToolError) -> [FeedbackState] {
        try await rows(of: SQL.listFeedbackHooks()).map(FeedbackState.init)
    }

    /// Redelivers to a hook the feedback recorded since a time.
    ///
    /// - Parameters:
    ///   - hook: the hook's name.
    ///   - since: the start.
    /// - Returns: the number of batches with feedback.
    /// - Throws: ``ToolError``, also if there is no such hook.
    public func replayFeedback(_ hook: String, since: Since) async throws(ToolError) -> Int64 {
        try await change(since: since) { connection throws(PostgresError) in
            try connection.run(SQL.replayFeedback(hook, since.seconds, since.text)).first ?? 0
        } action: { _ in
            ToolAction("feedback.replay", hook)
        }
    }

    /// Makes a hook due at once, even if it answered 410.
    ///
    /// - Parameter hook: the hook's name.
    /// - Throws: ``ToolError``, also if there is no such hook.
    public func resumeFeedback(_ hook: String) async throws(ToolError) {
        _ = try await change { connection throws(PostgresError) in
            try connection.run(SQL.resumeFeedback(hook))
        } action: { _ in
            ToolAction("feedback.resume", hook)
        }
    }

    /// Deletes the progress of a hook; a hook that a daemon still has in its configuration starts without progress.
    ///
    /// - Parameter hook: the hook's name.
    /// - Throws: ``ToolError``, also if there is no such hook.
    public func forgetFeedback(_ hook: String) async throws(ToolError) {
        _ = try await change { connection throws(PostgresError) in
            try connection.run(SQL.forgetFeedbackHook(hook))
        } action: { _ in
            ToolAction("feedback.forget", hook)
        }
    }
}
