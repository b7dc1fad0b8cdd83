package import FanfareCore
package import PostgresClient

/// Calls `fanfare.emit`.
package struct EmitEvent: PostgresStatement {
    package static let name = "emit_event"
    package static let sql = """
        SELECT CASE WHEN \(traceSQL("$5::text")) THEN fanfare.emit($1, $2::jsonb, $3, make_interval(secs => $4::float8)) END
        """

    package let type: String
    package let payload: String
    package let key: String?
    package let ttlSeconds: Int64?
    package let trace: TraceContext?

    package init(type: String, payload: String, key: String?, ttlSeconds: Int64?, trace: TraceContext? = nil) {
        self.type = type
        self.payload = payload
        self.key = key
        self.ttlSeconds = ttlSeconds
        self.trace = trace
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(type)
        binds.append(payload)
        binds.append(key)
        binds.append(ttlSeconds)
        binds.append(trace?.traceparent)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// The SQL for true, having said of which trace the events are part that are emitted next in this transaction.
///
/// By the setting that triggers use too: another parameter of `fanfare.emit` would be another function, beside which the first could
/// not be called any more.
///
/// - Parameter traceparent: the SQL for it; null for no such event in this transaction, empty for none beside others.
/// - Returns: the condition, to stand under CASE before what emits.
func traceSQL(_ traceparent: String) -> String {
    "\(traceparent) IS NULL OR set_config('fanfare.traceparent', \(traceparent), true) IS NOT NULL"
}
