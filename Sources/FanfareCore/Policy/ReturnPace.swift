/// When batches are looked at again that only wait for a service that cannot be reached: after 5 s, and no more than ten in a
/// second, however many there are.
///
/// Times are microseconds of any steady clock.
public struct ReturnPace: Equatable, Sendable {
    /// The least wait.
    public static let wait: Microseconds = 5 * Micros.second
    /// The time from one batch to the next.
    public static let interval: Microseconds = 100 * Micros.millisecond

    private var next: Microseconds = 0

    /// Nothing waits yet.
    public init() {}

    /// Lets one more batch wait.
    ///
    /// - Parameter now: the time.
    /// - Returns: how long it is to wait.
    public mutating func delay(at now: Microseconds) -> Microseconds {
        let due = max(now.addingClamping(Self.wait), next)
        next = due.addingClamping(Self.interval)
        return due.subtractingClamping(now)
    }
}
