/// A token bucket for opening connections: APNs takes quick reconnects for an attack (Apple, "Establishing a connection to
/// APNs").
///
/// One for each host. Times are microseconds of any steady clock.
public struct ConnectionPacer: Equatable, Sendable {
    /// Connections that may be opened in one go after a quiet while.
    public let burst: Int
    /// The time in which one more may be opened.
    public let interval: Microseconds
    /// The time at which the bucket would be, or was, full.
    private var fullAt: Microseconds = .min

    /// A full bucket.
    ///
    /// - Parameters:
    ///   - burst: what the bucket holds; 0 acts as 1.
    ///   - interval: the time until a connection taken out is given back.
    public init(burst: Int = 8, interval: Microseconds = 2 * Micros.second) {
        self.burst = max(burst, 1)
        self.interval = max(interval, 1)
    }

    /// Takes leave to open one connection.
    ///
    /// - Parameter now: the time.
    /// - Returns: nil if it may be opened now; otherwise the time to ask again.
    public mutating func take(at now: Microseconds) -> Microseconds? {
        let filling = max(fullAt, now)
        // Where fullAt lies this far ahead, the bucket is empty.
        let leave = filling.subtractingClamping(Int64(burst - 1).multipliedClamping(by: interval))
        guard leave <= now else { return leave }
        fullAt = filling.addingClamping(interval)
        return nil
    }
}
