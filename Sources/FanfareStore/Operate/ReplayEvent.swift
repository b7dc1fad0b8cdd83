package import PostgresClient

/// Calls `fanfare.replay`.
package struct ReplayEvent: PostgresStatement {
    package static let name = "replay_event"
    package static let sql = "SELECT fanfare.replay($1, $2, $3)"

    package let eventID: Int64
    /// Nil for all whom the event is for.
    package let user: String?
    /// Nil for the rules of all apps.
    package let app: String?

    package init(eventID: Int64, user: String?, app: String?) {
        (self.eventID, self.user, self.app) = (eventID, user, app)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
        binds.append(user)
        binds.append(app)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}
