/// The database's clock, as far as it is known from its answers.
///
/// What an answer says was true at some moment between question and answer, which lie far apart where the process was
/// stopped in between: each answer bounds the difference of the clocks, and is believed no further. It is reckoned from
/// a clock that nobody sets: if this machine's wall clock is off, or is put right, deadlines stay where they were.
public struct DatabaseClock: Equatable, Sendable {
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
        offset = min(max(offset ?? most, least), most)
    }

    /// The time by the database.
    ///
    /// - Parameter steady: our steady clock.
    /// - Returns: microseconds since 1970.
    public func now(steady: Microseconds) -> Microseconds {
        steady.addingClamping(offset ?? assumedOffset)
    }
}
