package import FanfareCore
package import PostgresClient

/// Calls `fanfare.emit` for one or more events, in their order; for later ones `fanfare.emit_at` or `fanfare.emit_local`.
package struct EmitEvents: PostgresStatement {
    package static let name = "emit_events"
    package static let sql = """
        SELECT CASE WHEN \(traceSQL("e.trace")) THEN CASE
            WHEN e.at IS NULL AND e.wait IS NULL
                THEN fanfare.emit(e.type, e.payload::jsonb, e.key, make_interval(secs => e.ttl::float8))
            WHEN e.zone IS NULL THEN fanfare.emit_at(e.type, \(timeSQL("e.at", "e.wait")), e.payload::jsonb, e.key,
                make_interval(secs => e.ttl::float8), e.replaces)
            ELSE fanfare.emit_local(e.type, e.at::timestamp, e.zone, e.payload::jsonb, e.key,
                make_interval(secs => e.ttl::float8), e.replaces)
        END END
        FROM (
            SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[], $6::text[], $7::bigint[],
                    $8::text[], $9::boolean[]) WITH ORDINALITY
                AS u (type, payload, key, ttl, trace, at, wait, zone, replaces, place)
            ORDER BY u.place
        ) AS e
        """

    package let types: [String]
    package let payloads: [String]
    package let keys: [String?]
    package let ttlSeconds: [Int64?]
    package let traces: [TraceContext?]
    /// When each event is due; nil for now.
    package let times: [DueTime?]

    package init(
        types: [String],
        payloads: [String],
        keys: [String?],
        ttlSeconds: [Int64?],
        traces: [TraceContext?],
        times: [DueTime?]
    ) {
        (self.types, self.payloads, self.keys, self.ttlSeconds) = (types, payloads, keys, ttlSeconds)
        (self.traces, self.times) = (traces, times)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(types)
        binds.append(payloads)
        binds.append(keys)
        binds.append(ttlSeconds)
        // Without this, an event without a trace would inherit that of the event before it.
        let none = traces.contains { $0 != nil } ? "" : nil
        binds.append(traces.map { $0?.traceparent ?? none })
        binds.append(times.map { $0?.time })
        binds.append(times.map { $0?.seconds })
        binds.append(times.map { $0?.zone })
        binds.append(times.map { $0?.replaces ?? false })
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// When an event is due.
public struct DueTime: Sendable, Equatable {
    /// A time with its offset, or with a ``zone`` what clocks show; nil if it is ``seconds`` from now.
    package let time: String?
    /// The seconds from now; nil if there is a ``time``.
    package let seconds: Int64?
    /// The time zone whose clocks show the time, or `recipient`; nil for a time with its offset.
    package let zone: String?
    /// Whether it replaces the event that waits under the same type and key.
    package let replaces: Bool

    /// Describes a time.
    ///
    /// - Parameters:
    ///   - time: an RFC 3339 time, or a duration from now; with a zone what clocks show, such as `2026-12-01T09:00`.
    ///   - zone: a time zone such as `Europe/Madrid`, or `recipient` for each recipient's own; nil for none.
    ///   - replaces: whether it replaces the event that waits under the same type and key.
    public init(_ time: String, zone: String? = nil, replaces: Bool = false) {
        let span = zone == nil ? TimeSpan(time) : nil
        (self.time, seconds) = (span == nil ? time : nil, span?.seconds)
        (self.zone, self.replaces) = (zone, replaces)
    }
}

/// Returns SQL for a time, or for one so many seconds from now; null if both are.
func timeSQL(_ time: String, _ seconds: String) -> String {
    "coalesce(\(time)::timestamptz, clock_timestamp() + make_interval(secs => \(seconds)::float8))"
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
