package import FanfareCore

/// Tells when this machine's clock and the database's part, and when they agree again.
package struct ClockWatch {
    /// How far they may differ: services allow tokens a few minutes.
    package static let tolerance = Micros.minute

    /// Whether they differed by more when somebody looked last.
    private(set) var isOff = false

    /// Takes a look in.
    ///
    /// - Parameter ahead: our clock less the database's.
    /// - Returns: whether this is news.
    mutating func changes(ahead: Microseconds) -> Bool {
        let wasOff = isOff
        isOff = ahead.magnitude > UInt64(Self.tolerance)
        return isOff != wasOff
    }
}
