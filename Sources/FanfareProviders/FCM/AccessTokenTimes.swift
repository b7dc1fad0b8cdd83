internal import FanfareCore

/// The expiry and renewal times of an access token (monotonic time).
struct AccessTokenTimes: Equatable {
    /// The longest time before expiry at which a token is renewed: a tenth of Google's hour, or half of a shorter
    /// lifetime.
    private static let longestMargin = 6 * Micros.minute
    /// The minimum interval between requests to the endpoint, however short the lifetime of its tokens.
    static let leastPause = 10 * Micros.second
    /// The lifetime in seconds if the answer gives none.
    private static let usualLifetime = 3600.0
    /// The upper limit of a lifetime, in seconds; longer ones are capped, and shorter ones than a second are raised to
    /// 1.
    private static let longestLifetime = 86_400.0

    /// The time from which the token is no longer used.
    let expiresAt: Microseconds
    /// The time at which the next token is due.
    let renewsAt: Microseconds
    /// The earliest time of the next request, even if a token is due.
    let nextFetchAt: Microseconds

    /// - Parameters:
    ///   - asked: when the token was requested.
    ///   - answered: when it arrived.
    ///   - expiresIn: the lifetime in seconds that the endpoint gives; nil if it gives none.
    init(asked: Microseconds, answered: Microseconds, expiresIn: Double?) {
        let seconds = min(max(1, expiresIn ?? Self.usualLifetime), Self.longestLifetime)
        let lifetime = Microseconds(seconds * Double(Micros.second))
        expiresAt = asked + lifetime
        renewsAt = expiresAt - min(Self.longestMargin, lifetime / 2)
        nextFetchAt = answered + Self.leastPause
    }
}
