/// When outcomes are written to the database: 100 ms after the oldest answer not yet recorded, or when a quarter of the share
/// of W is answered, whichever is first.
///
/// Bounds how many requests are repeated after a crash, and how long slots stay taken. Times are microseconds of any steady
/// clock.
public struct CheckpointPolicy: Equatable, Sendable {
    /// The longest an answer stays unrecorded.
    public static let longestWait: Microseconds = 100 * Micros.millisecond

    /// Answers since the last checkpoint was begun.
    public private(set) var answered = 0
    private var oldest: Microseconds?

    /// Nothing to record.
    public init() {}

    /// Counts answers that are not recorded yet.
    ///
    /// - Parameters:
    ///   - count: how many.
    ///   - now: the time.
    public mutating func answered(_ count: Int, at now: Microseconds) {
        guard count > 0 else { return }
        answered += count
        oldest = oldest ?? now
    }

    /// Whether a checkpoint should begin.
    ///
    /// - Parameters:
    ///   - share: how many slots of W the sender holds or may hold.
    ///   - now: the time.
    /// - Returns: false where nothing was answered.
    public func isDue(share: Int, at now: Microseconds) -> Bool {
        guard answered > 0 else { return false }
        return answered >= max(share / 4, 1) || now >= dueAt ?? now
    }

    /// When a checkpoint is due at the latest; nil where nothing was answered.
    public var dueAt: Microseconds? { oldest?.addingClamping(Self.longestWait) }

    /// A checkpoint begins that holds everything answered so far; later answers belong to the next.
    public mutating func begun() {
        self = CheckpointPolicy()
    }
}
