/// The pace at which batches that wait for an unreachable service are tried again: after 5 s, and at most ten in a
/// second.
///
/// Times are microseconds of any monotonic clock.
public struct ReturnPace: Equatable, Sendable {
    /// The minimum wait.
    public static let wait: Microseconds = 5 * Micros.second
    /// The interval between two batches.
    public static let interval: Microseconds = 100 * Micros.millisecond

    private var next: Microseconds = 0

    /// Makes a pace without waiting batches.
    public init() {}

    /// Schedules another batch.
    ///
    /// - Parameter now: the time.
    /// - Returns: the batch's wait.
    public mutating func delay(at now: Microseconds) -> Microseconds {
        let due = max(now.addingClamping(Self.wait), next)
        next = due.addingClamping(Self.interval)
        return due.subtractingClamping(now)
    }
}
