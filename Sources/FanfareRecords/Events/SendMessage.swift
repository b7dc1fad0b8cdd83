package import PostgresClient

extension SQL {
    /// Calls `fanfare.send`; the event belongs to a trace if one is given.
    ///
    /// Binds: message, traceparent.
    package static let sendMessage = Statement<Int64, String, String?>(
        "send_message",
        "SELECT CASE WHEN \(traceSQL("$2::text")) THEN fanfare.send($1::jsonb) END"
    )
}
