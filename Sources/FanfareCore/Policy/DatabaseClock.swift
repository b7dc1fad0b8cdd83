/// The database's clock, as far as it is known from its answers.
///
/// What an answer says was true at some moment between question and answer, which lie far apart where the process was
/// stopped in between: each answer bounds the difference of the clocks, and is believed no further.
public struct DatabaseClock: Equatable, Sendable {
    /// The database's clock less ours; nil before the first answer.
    private var offset: Microseconds?

    /// A clock of which nothing is known: it goes as ours.
    public init() {}

    /// The database told its time.
    ///
    /// - Parameters:
    ///   - time: what it said.
    ///   - asked: our wall clock right before it was asked.
    ///   - answered: our wall clock after the answer.
    public mutating func read(_ time: Microseconds, asked: Microseconds, answered: Microseconds) {
        let least = time.subtractingClamping(answered)
        // Rather early than late: what is past its deadline by the database must not be sent.
        let most = max(time.subtractingClamping(asked), least)
        offset = min(max(offset ?? most, least), most)
    }

    /// The time by the database.
    ///
    /// - Parameter wall: our wall clock.
    /// - Returns: microseconds since 1970.
    public func now(wall: Microseconds) -> Microseconds {
        wall.addingClamping(offset ?? 0)
    }
}
