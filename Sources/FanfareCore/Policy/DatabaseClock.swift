/// The database's clock, as far as it is known from its answers.
///
/// What an answer says was true at some moment between question and answer, which lie far apart where the process was
/// stopped in between: each answer bounds the difference of the clocks, and is believed no further. It is reckoned from
/// a clock that nobody sets: if this machine's wall clock is off, or is put right, deadlines stay where they were.
public struct DatabaseClock: Equatable, Sendable {
    /// The clock was set.
    public struct Step: Equatable, Sendable {
        /// By how much; negative where it was set back.
        public let distance: Microseconds
        /// When that was noticed, by our steady clock.
        public let noticedAt: Microseconds
    }

    /// Clocks that are disciplined drift by less between two answers.
    static let leastStep = Micros.second

    /// The last time that it was set by a second or more.
    public private(set) var lastStep: Step?
    /// The database's clock less our steady one; nil before the first answer.
    private var offset: Microseconds?
    private let assumedOffset: Microseconds

    /// A clock of which nothing is known yet: it goes as ours.
    ///
    /// - Parameters:
    ///   - wall: our wall clock, in microseconds since 1970.
    ///   - steady: our steady clock at the same moment.
    public init(wall: Microseconds, steady: Microseconds) {
        assumedOffset = wall.subtractingClamping(steady)
    }

    /// The database told its time.
    ///
    /// - Parameters:
    ///   - time: what it said, in microseconds since 1970.
    ///   - asked: our steady clock right before it was asked.
    ///   - answered: our steady clock after the answer.
    public mutating func read(_ time: Microseconds, asked: Microseconds, answered: Microseconds) {
        let least = time.subtractingClamping(answered)
        // Rather early than late: what is past its deadline by the database must not be sent.
        let most = max(time.subtractingClamping(asked), least)
        let believed = offset ?? most
        let bounded = min(max(believed, least), most)
        let distance = bounded.subtractingClamping(believed)
        if distance.magnitude >= Self.leastStep.magnitude { lastStep = Step(distance: distance, noticedAt: answered) }
        offset = bounded
    }

    /// The time by the database.
    ///
    /// - Parameter steady: our steady clock.
    /// - Returns: microseconds since 1970.
    public func now(steady: Microseconds) -> Microseconds {
        steady.addingClamping(offset ?? assumedOffset)
    }
}
