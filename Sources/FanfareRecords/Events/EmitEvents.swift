package import FanfareCore
package import PostgresClient

/// Calls `fanfare.emit` for one or more events, in their order.
package struct EmitEvents: PostgresStatement {
    package static let name = "emit_events"
    package static let sql = """
        SELECT CASE WHEN \(traceSQL("e.trace"))
            THEN fanfare.emit(e.type, e.payload::jsonb, e.key, make_interval(secs => e.ttl::float8)) END
        FROM (
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[]) WITH ORDINALITY
                AS u (type, payload, key, ttl, trace, place)
            ORDER BY u.place
        ) AS e
        """

    package let types: [String]
    package let payloads: [String]
    package let keys: [String?]
    package let ttlSeconds: [Int64?]
    package let traces: [TraceContext?]

    package init(
        types: [String],
        payloads: [String],
        keys: [String?],
        ttlSeconds: [Int64?],
        traces: [TraceContext?]
    ) {
        (self.types, self.payloads, self.keys, self.ttlSeconds) = (types, payloads, keys, ttlSeconds)
        self.traces = traces
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(types)
        binds.append(payloads)
        binds.append(keys)
        binds.append(ttlSeconds)
        // Without this, an event without a trace would inherit that of the event before it.
        let none = traces.contains { $0 != nil } ? "" : nil
        binds.append(traces.map { $0?.traceparent ?? none })
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

extension SQL {
    /// Calls `fanfare.cancel` with an event's id.
    ///
    /// Binds: id.
    package static let cancelEvent = Statement<Bool, Int64>(
        "cancel_event",
        "SELECT fanfare.cancel($1::bigint)"
    )

    /// Calls `fanfare.cancel` with a type and a key.
    ///
    /// Binds: type, key.
    package static let cancelKey = Statement<Bool, String, String>(
        "cancel_key",
        "SELECT fanfare.cancel($1, $2)"
    )

    /// Cancels many events at once; returns how many, not which of them had anything waiting.
    ///
    /// Binds: ids.
    package static let cancelEvents = Statement<Int64, [Int64]>(
        "cancel_events",
        "SELECT fanfare.cancel_events($1)"
    )
}
