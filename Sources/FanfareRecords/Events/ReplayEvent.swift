package import PostgresClient

extension SQL {
    /// Calls `fanfare.replay`.
    ///
    /// Binds: eventID, user, app, trace traceparent.
    package static let replayEvent = Statement<Int64, Int64, String?, String?, String?>(
        "replay_event",
        "SELECT CASE WHEN \(traceSQL("$4::text")) THEN fanfare.replay($1, $2, $3) END"
    )
}
