package import FanfareCore
package import PostgresClient

/// Calls `fanfare.replay`.
package struct ReplayEvent: PostgresStatement {
    package static let name = "replay_event"
    package static let sql = "SELECT CASE WHEN \(traceSQL("$4::text")) THEN fanfare.replay($1, $2, $3) END"

    package let eventID: Int64
    /// The only user of the replay; nil for all recipients of the event.
    package let user: String?
    /// The only app whose rules apply; nil for all.
    package let app: String?
    /// The trace of the replay, which is not that of the original event.
    package let trace: TraceContext?

    package init(eventID: Int64, user: String?, app: String?, trace: TraceContext? = nil) {
        (self.eventID, self.user, self.app, self.trace) = (eventID, user, app, trace)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
        binds.append(user)
        binds.append(app)
        binds.append(trace?.traceparent)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}
