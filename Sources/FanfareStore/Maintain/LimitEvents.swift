package import PostgresClient

/// Stores which event types rules of an app may take; returns whether that is a change.
package struct LimitEvents: PostgresStatement {
    package static let name = "limit_events"
    package static let sql = "SELECT fanfare.limit_events($1, $2::text[])"

    package let app: String
    /// Types, or prefixes followed by `*`.
    package let events: [String]

    package init(app: String, events: [String]) {
        (self.app, self.events) = (app, events)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(events)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
