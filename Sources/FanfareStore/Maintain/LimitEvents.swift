package import PostgresClient

extension SQL {
    /// Stores which event types rules of an app may take; returns whether that is a change.
    ///
    /// Binds: app, events.
    package static let limitEvents = Statement<Bool, String, [String]>(
        "limit_events",
        "SELECT fanfare.limit_events($1, $2::text[])"
    )
}
