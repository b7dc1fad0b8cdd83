/// The waits between attempts to reconnect to the database.
///
/// They double, and the upper half of each is random, so that daemons that lost the same server do not reconnect at the
/// same time.
public struct ReconnectBackoff: Equatable, Sendable {
    /// The first wait before jitter, and the longest.
    ///
    /// With a limit of 1 s, service resumes within 2 s of the server's return.
    public static let defaultWaits: ClosedRange<Microseconds> = 50 * Micros.millisecond...Micros.second

    private let waits: ClosedRange<Microseconds>
    private var ceiling: Microseconds

    /// Makes a backoff at its first wait.
    ///
    /// - Parameter waits: the first and the longest wait before jitter.
    public init(waits: ClosedRange<Microseconds> = defaultWaits) {
        self.waits = waits
        ceiling = waits.lowerBound
    }

    /// Returns the wait after another failure.
    ///
    /// - Parameter random: a number evenly distributed in 0..<1.
    /// - Returns: between half and all of the current ceiling, never 0.
    public mutating func next(random: Double) -> Microseconds {
        let wait = ceiling
        ceiling = min(ceiling.multipliedClamping(by: 2), waits.upperBound)
        return max(Int64(Double(wait) * (0.5 + clampedUnit(random) / 2)), 1)
    }

    /// Resets the backoff after a successful connection.
    public mutating func reset() {
        ceiling = waits.lowerBound
    }
}
