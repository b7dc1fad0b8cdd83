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

extension SQL {
    /// Calls `fanfare.why` for one event.
    ///
    /// Binds: eventID, user, app.
    package static let whyRows = Statement<WhyRow, Int64, String, String?>(
        "why_rows",
        """
        SELECT w.at, w.rule, w.device_id, w.provider, w.attempt, w.outcome, w.reason, w.until, w.detail
        FROM fanfare.why($1, $2, $3) AS w
        """,
        row: WhyRow.init
    )

    /// Calls `fanfare.why_verdict` for one event, or `fanfare.why_recent` for a user's last ones, the newest first.
    ///
    /// Binds: eventID, user, app.
    package static let whyVerdicts = Statement<WhyVerdict, Int64?, String, String?>(
        "why_verdicts",
        """
        SELECT $1::bigint AS id, v.event_type, v.at, v.rule, v.outcome, v.reason, v.until, v.detail
        FROM (SELECT WHERE $1 IS NOT NULL) AS one CROSS JOIN LATERAL fanfare.why_verdict($1, $2, $3) AS v
        UNION ALL
        SELECT v.event_id, v.event_type, v.at, v.rule, v.outcome, v.reason, v.until, v.detail
        FROM (SELECT WHERE $1 IS NULL) AS many CROSS JOIN LATERAL fanfare.why_recent($2, $3) AS v
        ORDER BY id DESC
        """,
        row: WhyVerdict.init
    )
}
