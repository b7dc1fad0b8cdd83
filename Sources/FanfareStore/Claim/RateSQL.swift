/// SQL of rates: how many deliveries a second are claimed.
///
/// Two figures hold any second to 1.2 times the rate, whoever looks and whenever: what a second itself brings, and what was left
/// from before it. A look comes when a portion has come free, and may be late by the rest of the credit without losing any of it.
enum RateSQL {
    /// What has come free and is not used counts for so long.
    static let credit = "interval '200 milliseconds'"

    /// How many deliveries a second a rate lets through.
    ///
    /// - Parameters:
    ///   - rate: what has the columns of `rates`.
    ///   - time: when.
    /// - Returns: a number.
    static func perSecond(_ rate: String, at time: String) -> String {
        "fanfare.rate_at(\(rate).per_second, \(rate).ramp_from, \(rate).ramp_seconds, \(rate).ramp_began_at, \(time))"
    }

    /// The fewest deliveries a second that a rate ever lets through: those that its ramp begins with.
    ///
    /// - Parameter rate: what has the columns of `rates`.
    /// - Returns: a number.
    static func slowest(_ rate: String) -> String { "coalesce(\(rate).ramp_from, \(rate).per_second)" }

    /// The rates of a target's app and provider, which hold for all that it gets but in the transactional lane.
    ///
    /// - Parameters:
    ///   - rate: the alias of `rates`.
    ///   - target: the alias of `targets`.
    /// - Returns: a condition.
    static func isOf(_ rate: String, target: String) -> String {
        """
        \(rate).app_id IS NOT NULL AND \(rate).app_id = \(target).app_id \
        AND \(target).provider = coalesce(\(rate).provider, \(target).provider)
        """
    }

    /// How many deliveries are claimed at once, where there are as many: what comes free in a tenth of a second.
    ///
    /// More at once would be bursts, less would be more looks than are worth it.
    ///
    /// - Parameter perSecond: the rate.
    /// - Returns: a number of deliveries, not a whole one.
    static func portion(_ perSecond: String) -> String { "\(perSecond)::float8 / 10" }
}
