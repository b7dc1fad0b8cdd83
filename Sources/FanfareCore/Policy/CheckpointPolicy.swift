/// Decides when outcomes are written to the database: 100 ms after the oldest unrecorded answer, or when half of the
/// share of the in-flight budget is answered, whichever is first.
///
/// Limits the number of requests repeated after a crash, and how long slots stay taken. Times are microseconds of any
/// monotonic clock.
public struct CheckpointPolicy: Equatable, Sendable {
    /// The longest time that an answer stays unrecorded.
    public static let longestWait: Microseconds = 100 * Micros.millisecond

    /// The answers since the start of the last checkpoint.
    public private(set) var answered = 0
    private var oldest: Microseconds?

    /// Makes a policy without answers.
    public init() {}

    /// Counts unrecorded answers.
    ///
    /// - Parameters:
    ///   - count: the number of answers.
    ///   - now: the time.
    public mutating func answered(_ count: Int, at now: Microseconds) {
        guard count > 0 else { return }
        answered += count
        oldest = oldest ?? now
    }

    /// Returns whether a checkpoint should start.
    ///
    /// - Parameters:
    ///   - share: the number of slots of the in-flight budget that the sender holds or may hold.
    ///   - now: the time.
    /// - Returns: false if there are no answers.
    public func isDue(share: Int, at now: Microseconds) -> Bool {
        guard answered > 0 else { return false }
        return answered >= max(share / 2, 1) || now >= dueAt ?? now
    }

    /// The latest time of the next checkpoint; nil if there are no answers.
    public var dueAt: Microseconds? { oldest?.addingClamping(Self.longestWait) }

    /// Starts a checkpoint with all answers so far; later answers belong to the next one.
    public mutating func begun() {
        self = CheckpointPolicy()
    }
}
