package import PostgresClient

/// The people of one variant of a rule, or of its holdout, and how many of them converted.
public struct LiftRow: Sendable {
    /// The rule's app.
    public let app: String
    /// The rule's name.
    public let rule: String
    /// The variant; `holdout` for those who got nothing, nil for a rule without variants.
    public let variant: String?
    /// The number of people whose delivery ended after Fanfare had checked the holdout.
    ///
    /// It ended with the provider's response, or as held out, opted out or capped, for example. Deliveries that were
    /// cancelled, expired or disabled before are not counted.
    public let people: Int64
    /// The number of these people who have no device that reports receipts.
    public let notReporting: Int64
    /// The number of people who opened the push, of those with a device that reports receipts.
    public let opened: Int64
    /// The number of people who converted; nil if the rule has no conversion.
    public let converted: Int64?
    /// The share of the people who converted, from 0 to 1.
    public let rate: Double?
    /// The rate minus the rate of the holdout; nil for the holdout, and if the rule has none.
    public let lift: Double?
    /// The lower end of the interval of ``lift``, with 95 %.
    public let low: Double?
    /// The upper end of the interval of ``lift``, with 95 %.
    public let high: Double?
}

extension SQL {
    /// Compares what the people of an event did, by rule and variant.
    ///
    /// It reads every delivery.
    ///
    /// Binds: event.
    package static let eventLift = Statement<LiftRow, Int64>(
        "event_lift",
        "SELECT app, rule, variant, people, not_reporting, opened, converted, rate, lift, low, high FROM fanfare.lift($1)",
        row: LiftRow.init
    )

    /// The same for a rule's pushes of some days.
    ///
    /// It reads every delivery.
    ///
    /// Binds: app, rule, days.
    package static let ruleLift = Statement<LiftRow, String, String, Int32>(
        "rule_lift",
        """
        SELECT app, rule, variant, people, not_reporting, opened, converted, rate, lift, low, high
        FROM fanfare.lift($1, $2, now() - $3 * interval '1 day')
        """,
        row: LiftRow.init
    )
}
