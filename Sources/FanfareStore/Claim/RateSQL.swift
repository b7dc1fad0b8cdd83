/// SQL of rates: how many pairs a second are claimed.
///
/// Two figures hold any second to 1.2 times the rate, whoever looks and whenever: what a second itself brings, and what was left
/// from before it. A look comes when a portion has come free, and may be late by the rest of the credit without losing any of it.
enum RateSQL {
    /// What has come free and is not used counts for so long.
    static let credit = "interval '200 milliseconds'"

    /// How many pairs are claimed at once, where there are as many: what comes free in a tenth of a second.
    ///
    /// More at once would be bursts, less would be more looks than are worth it.
    ///
    /// - Parameter perSecond: the rate.
    /// - Returns: a number of pairs, not a whole one.
    static func portion(_ perSecond: String) -> String { "\(perSecond)::float8 / 10" }
}
