internal import FanfareCore

/// When an access token is used, and when the next one is asked for (steady time).
struct AccessTokenTimes: Equatable {
    /// Before its end a token is renewed: a tenth of Google's hour, or half of a shorter life.
    private static let longestMargin = 6 * Micros.minute
    /// The endpoint is asked no more often, however soon it lets its tokens end.
    static let leastPause = 10 * Micros.second
    /// In seconds, where the answer says nothing.
    private static let usualLifetime = 3600.0
    /// In seconds; what lies beyond is no more believed than what is below a second.
    private static let longestLifetime = 86_400.0

    /// When it is used no more.
    let expiresAt: Microseconds
    /// When the next one is wanted.
    let renewsAt: Microseconds
    /// Before this the next one is not asked for, wanted or not.
    let nextFetchAt: Microseconds

    /// - Parameters:
    ///   - asked: when the token was asked for.
    ///   - answered: when it came.
    ///   - expiresIn: how many seconds it is valid, as the endpoint says; nil if it does not.
    init(asked: Microseconds, answered: Microseconds, expiresIn: Double?) {
        let seconds = min(max(1, expiresIn ?? Self.usualLifetime), Self.longestLifetime)
        let lifetime = Microseconds(seconds * Double(Micros.second))
        expiresAt = asked + lifetime
        renewsAt = expiresAt - min(Self.longestMargin, lifetime / 2)
        nextFetchAt = answered + Self.leastPause
    }
}
