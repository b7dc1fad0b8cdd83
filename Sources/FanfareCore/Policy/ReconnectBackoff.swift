/// The waits between attempts to reach the database again: doubling, the upper half of each random, so that daemons that lost the same
/// server do not come back at once.
public struct ReconnectBackoff: Equatable, Sendable {
    /// The first wait before jitter, and the longest.
    ///
    /// With 1 s at most, service resumes within 2 s of the server.
    public static let defaultWaits: ClosedRange<Microseconds> = 50 * Micros.millisecond...Micros.second

    private let waits: ClosedRange<Microseconds>
    private var ceiling: Microseconds

    /// Waits from the beginning.
    ///
    /// - Parameter waits: the first and the longest wait before jitter.
    public init(waits: ClosedRange<Microseconds> = defaultWaits) {
        self.waits = waits
        ceiling = waits.lowerBound
    }

    /// The wait after one more failure.
    ///
    /// - Parameter random: evenly distributed in 0..<1.
    /// - Returns: between half and the whole of the current ceiling, never 0.
    public mutating func next(random: Double) -> Microseconds {
        let wait = ceiling
        ceiling = min(ceiling.multipliedClamping(by: 2), waits.upperBound)
        return max(Int64(Double(wait) * (0.5 + clampedUnit(random) / 2)), 1)
    }

    /// A connection was made and served: the next failure starts from the shortest wait.
    public mutating func reset() {
        ceiling = waits.lowerBound
    }
}
