package import FanfareCore

/// Detects when this machine's clock and the database's differ, and when they agree again.
package struct ClockWatch {
    /// The tolerated difference: providers accept tokens that are a few minutes off.
    package static let tolerance = Micros.minute

    /// Whether the difference was larger at the last comparison.
    private(set) var isOff = false

    /// Records a comparison.
    ///
    /// - Parameter ahead: this machine's time minus the database's.
    /// - Returns: whether the state changed.
    mutating func changes(ahead: Microseconds) -> Bool {
        let wasOff = isOff
        isOff = ahead.magnitude > UInt64(Self.tolerance)
        return isOff != wasOff
    }
}
