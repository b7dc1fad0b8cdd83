package import PostgresClient

/// One thing that happened to an event for one user, as `fanfare.why` tells it.
public struct WhyRow: Sendable {
    package let at: Timestamp
    /// The app and the rule, as in `shop/order-shipped`; nil where it is about the event.
    public let rule: String?
    /// The device, 0 for an audience that a provider manages; nil where it is about the event, a rule or the user.
    public let deviceID: Int64?
    /// Where the device is pushed to.
    public let provider: String?
    /// The number of the attempt; nil where nothing was tried.
    public let attempt: Int32?
    /// The fate, what the rule said, or the outcome.
    public let outcome: String
    /// One word that does not change.
    public let reason: String?
    /// Until when it waits; nil where it does not, or nobody knows.
    package let until: Timestamp?
    /// What it means and what to do, for people.
    public let detail: String?
}

/// What an event came to for one user, as `fanfare.why_verdict` tells it.
public struct WhyVerdict: Sendable {
    /// The event; nil where the user has none, and the line tells what is known of the user.
    public let eventID: Int64?
    /// The event's type; nil if there is no such event.
    public let eventType: String?
    package let at: Timestamp
    /// The app and the rule that it is about; nil for none.
    public let rule: String?
    /// The fate, what the rule said, or the outcome.
    public let outcome: String
    /// One word that does not change.
    public let reason: String?
    /// Until when it waits; nil where it does not, or nobody knows.
    package let until: Timestamp?
    /// What it means and what to do, for people.
    public let detail: String?
}

/// Calls `fanfare.why` for one event.
package struct WhyRows: PostgresStatement {
    package static let name = "why_rows"
    package static let sql = """
        SELECT w.at, w.rule, w.device_id, w.provider, w.attempt, w.outcome, w.reason, w.until, w.detail
        FROM fanfare.why($1, $2, $3) AS w
        """

    package let eventID: Int64
    package let user: String
    /// Nil for all apps.
    package let app: String?

    package init(eventID: Int64, user: String, app: String?) {
        (self.eventID, self.user, self.app) = (eventID, user, app)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
        binds.append(user)
        binds.append(app)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> WhyRow {
        WhyRow(
            at: try row.timestamp(0),
            rule: try row.string(orNil: 1),
            deviceID: try row.int64(orNil: 2),
            provider: try row.string(orNil: 3),
            attempt: try row.int32(orNil: 4),
            outcome: try row.string(5),
            reason: try row.string(orNil: 6),
            until: try row.timestamp(orNil: 7),
            detail: try row.string(orNil: 8)
        )
    }
}

/// Calls `fanfare.why_verdict` for one event, or `fanfare.why_recent` for the last ones of a user, the newest first.
package struct WhyVerdicts: PostgresStatement {
    package static let name = "why_verdicts"
    package static let sql = """
        SELECT $1::bigint AS id, v.event_type, v.at, v.rule, v.outcome, v.reason, v.until, v.detail
        FROM (SELECT WHERE $1 IS NOT NULL) AS one CROSS JOIN LATERAL fanfare.why_verdict($1, $2, $3) AS v
        UNION ALL
        SELECT v.event_id, v.event_type, v.at, v.rule, v.outcome, v.reason, v.until, v.detail
        FROM (SELECT WHERE $1 IS NULL) AS many CROSS JOIN LATERAL fanfare.why_recent($2, $3) AS v
        ORDER BY id DESC
        """

    /// Nil for the last ones.
    package let eventID: Int64?
    package let user: String
    /// Nil for all apps.
    package let app: String?

    package init(eventID: Int64?, user: String, app: String?) {
        (self.eventID, self.user, self.app) = (eventID, user, app)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
        binds.append(user)
        binds.append(app)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> WhyVerdict {
        WhyVerdict(
            eventID: try row.int64(orNil: 0),
            eventType: try row.string(orNil: 1),
            at: try row.timestamp(2),
            rule: try row.string(orNil: 3),
            outcome: try row.string(4),
            reason: try row.string(orNil: 5),
            until: try row.timestamp(orNil: 6),
            detail: try row.string(orNil: 7)
        )
    }
}
