/// SQL of rates, which limit how many deliveries per second are claimed.
///
/// Any second has at most 1.2 times the rate, for any number of claimers: what becomes available in that second, and
/// the credit left from before. A claim runs when a portion has become available, and may be late by the rest of the
/// credit without losing any.
enum RateSQL {
    /// How long unused allowance is kept.
    static let credit = "interval '200 milliseconds'"

    /// Returns SQL for the deliveries per second that a rate allows.
    ///
    /// - Parameters:
    ///   - rate: the alias of a row with the columns of `rates`.
    ///   - time: the SQL for the time.
    /// - Returns: a numeric expression.
    static func perSecond(_ rate: String, at time: String) -> String {
        "fanfare.rate_at(\(rate).per_second, \(rate).ramp_from, \(rate).ramp_seconds, \(rate).ramp_began_at, \(time))"
    }

    /// Returns SQL for the fewest deliveries per second that a rate ever allows: those at the start of its ramp.
    ///
    /// - Parameter rate: the alias of a row with the columns of `rates`.
    /// - Returns: a numeric expression.
    static func slowest(_ rate: String) -> String { "coalesce(\(rate).ramp_from, \(rate).per_second)" }

    /// Returns the condition for the rates of a target's app and provider, which apply to all lanes but the
    /// transactional one.
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

    /// Returns SQL for the number of deliveries that are claimed at once, if enough wait: what becomes available in a
    /// tenth of a second.
    ///
    /// More at once would send bursts; fewer would need too many claims.
    ///
    /// - Parameter perSecond: the rate.
    /// - Returns: an expression that is not a whole number.
    static func portion(_ perSecond: String) -> String { "\(perSecond)::float8 / 10" }
}
