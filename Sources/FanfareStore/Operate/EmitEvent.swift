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

/// Returns SQL that sets the trace of the events emitted next in this transaction, and is true.
///
/// It uses the setting that triggers use too: another parameter of `fanfare.emit` would create a second function, and
/// calls of the first would become ambiguous.
///
/// - Parameter traceparent: the SQL for the traceparent; null if no event of this transaction has one, empty for an
///   event without one beside others that have one.
/// - Returns: the condition, to be used under CASE before the emit.
func traceSQL(_ traceparent: String) -> String {
    "\(traceparent) IS NULL OR set_config('fanfare.traceparent', \(traceparent), true) IS NOT NULL"
}
