public import FanfareCore
internal import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Re-emits a logged event.
    ///
    /// - Parameters:
    ///   - eventID: the event.
    ///   - user: the only user of the audience to send to; nil for all.
    ///   - app: the app whose rules are applied; nil for all.
    ///   - trace: the trace that the new event belongs to, if any.
    ///   - once: the idempotency key of a token's request; nil if the request may be sent only once.
    /// - Returns: the new event's id.
    /// - Throws: ``ToolError``, also if the event is not in the log any more, or cannot go to one user only.
    public func replay(
        _ eventID: Int64,
        to user: String?,
        app: String?,
        trace: TraceContext? = nil,
        once: RequestKey? = nil
    ) async throws(ToolError) -> RequestFate<Int64> {
        let statement = SQL.replayEvent(eventID, user, app, trace?.traceparent)
        return try await change(once: once) { connection throws(PostgresError) in
            guard let id = try connection.run(statement).first else {
                throw PostgresError(.protocolMismatch, message: "fanfare.replay gave no id")
            }
            return id
        } ids: {
            [$0]
        } again: { _, ids in
            ids[0]
        } action: {
            ToolAction("event.replay", "\(eventID) as \($0)")
        }
    }
}
