/// The database's clock, estimated from its answers.
///
/// The time in an answer was read at some moment between question and answer, which may lie far apart if the process
/// was stopped in between. Each answer therefore only bounds the difference of the clocks. The estimate is relative to
/// a monotonic clock: if this machine's wall clock is wrong or is corrected, deadlines do not move.
public struct DatabaseClock: Equatable, Sendable {
    /// A step of the database's clock.
    public struct Step: Equatable, Sendable {
        /// The distance; negative if the clock was set back.
        public let distance: Microseconds
        /// When the step was noticed, by the monotonic clock.
        public let noticedAt: Microseconds
    }

    /// The minimum step; disciplined clocks drift by less between two answers.
    static let leastStep = Micros.second

    /// The last step of a second or more.
    public private(set) var lastStep: Step?
    /// The database's clock minus the monotonic clock; nil before the first answer.
    private var offset: Microseconds?
    private let assumedOffset: Microseconds

    /// Makes a clock without answers, which follows this machine's wall clock.
    ///
    /// - Parameters:
    ///   - wall: the wall clock, in microseconds since 1970.
    ///   - steady: the monotonic clock at the same moment.
    public init(wall: Microseconds, steady: Microseconds) {
        assumedOffset = wall.subtractingClamping(steady)
    }

    /// Uses the time in an answer of the database.
    ///
    /// - Parameters:
    ///   - time: the database's time, in microseconds since 1970.
    ///   - asked: the monotonic clock right before the question.
    ///   - answered: the monotonic clock after the answer.
    public mutating func read(_ time: Microseconds, asked: Microseconds, answered: Microseconds) {
        let least = time.subtractingClamping(answered)
        // Of two possible times the later one is assumed, so that nothing is sent after its deadline in database time.
        let most = max(time.subtractingClamping(asked), least)
        let believed = offset ?? most
        let bounded = min(max(believed, least), most)
        let distance = bounded.subtractingClamping(believed)
        if distance.magnitude >= Self.leastStep.magnitude { lastStep = Step(distance: distance, noticedAt: answered) }
        offset = bounded
    }

    /// Returns the database's time.
    ///
    /// - Parameter steady: the monotonic clock.
    /// - Returns: microseconds since 1970.
    public func now(steady: Microseconds) -> Microseconds {
        steady.addingClamping(offset ?? assumedOffset)
    }
}
