package import PostgresClient

/// One row of `fanfare.why`: something that happened to an event for one user.
public struct WhyRow: Sendable {
    package let at: Timestamp
    /// The app and the rule, as in `shop/order-shipped`; nil if the row is about the event.
    public let rule: String?
    /// The device, 0 for an audience that a provider manages; nil if the row is about the event, a rule or the user.
    public let deviceID: Int64?
    /// The device's provider.
    public let provider: String?
    /// The number of the attempt; nil if nothing was tried.
    public let attempt: Int32?
    /// The event's fate, the rule's result, or the outcome.
    public let outcome: String
    /// A stable identifier of the reason.
    public let reason: String?
    /// When the wait ends; nil if it does not wait, or if that is not known.
    package let until: Timestamp?
    /// A readable explanation, with what to do.
    public let detail: String?
}

/// The result of an event for one user, as in `fanfare.why_verdict`.
public struct WhyVerdict: Sendable {
    /// The event; nil if the user has none, and the row describes what is known about the user.
    public let eventID: Int64?
    /// The event's type; nil if there is no such event.
    public let eventType: String?
    package let at: Timestamp
    /// The app and the rule that it is about; nil for none.
    public let rule: String?
    /// The event's fate, the rule's result, or the outcome.
    public let outcome: String
    /// A stable identifier of the reason.
    public let reason: String?
    /// When the wait ends; nil if it does not wait, or if that is not known.
    package let until: Timestamp?
    /// A readable explanation, with what to do.
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
    /// The app; nil for all.
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

/// Calls `fanfare.why_verdict` for one event, or `fanfare.why_recent` for a user's last ones, the newest first.
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

    /// The event; nil for the last ones.
    package let eventID: Int64?
    package let user: String
    /// The app; nil for all.
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
