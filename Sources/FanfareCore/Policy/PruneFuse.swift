/// Answers, and evidence against tokens among them.
public struct PruneCounts: Equatable, Sendable, WindowTally {
    /// All answers of the provider.
    public var answers: Int
    /// Devices found gone on weak evidence.
    public var weak: Int
    /// Devices found gone on strong evidence.
    public var strong: Int

    /// Nothing counted.
    public init() { self.init(answers: 0) }

    /// Counts.
    ///
    /// - Parameters:
    ///   - answers: all answers.
    ///   - weak: gone on weak evidence.
    ///   - strong: gone on strong evidence.
    public init(answers: Int, weak: Int = 0, strong: Int = 0) {
        self.answers = answers
        self.weak = weak
        self.strong = strong
    }

    /// Adds other counts.
    ///
    /// - Parameters:
    ///   - counts: the sum.
    ///   - other: what is added.
    public static func += (counts: inout PruneCounts, other: PruneCounts) {
        counts.answers += other.answers
        counts.weak += other.weak
        counts.strong += other.strong
    }
}

/// Stops pruning when so many tokens seem dead that the evidence must be wrong.
///
/// One for each (app, environment). A wrong host or a restored database makes every token look dead; without a fuse that empties the table of devices.
/// Blows at more than 2 % on weak or 25 % on strong evidence over at least 1,000 answers in 10 minutes. Times are
/// microseconds of any steady clock.
public struct PruneFuse: Equatable, Sendable {
    /// The time over which is counted.
    public static let window: Microseconds = 10 * Micros.minute
    /// Answers needed before a share means anything.
    public static let leastAnswers = 1000
    /// The share of weak evidence, in percent, that is still believed.
    public static let weakPercent = 2
    /// The share of strong evidence, in percent, that is still believed.
    public static let strongPercent = 25

    /// Whether pruning goes on.
    public enum State: Equatable, Sendable {
        /// Evidence is followed. Can transition to: ``blown(by:at:)``.
        case intact
        /// Devices are kept, an alarm stands. Can transition to: ``intact``, by ``PruneFuse/reset()`` alone.
        case blown(by: PruneEvidence.Strength, at: Microseconds)
    }

    /// Whether pruning goes on.
    public private(set) var state = State.intact
    private var counted = SlidingWindow<PruneCounts>(width: window, buckets: 60)

    /// An intact fuse.
    public init() {}

    /// Whether a device may be disabled now.
    public var allowsPruning: Bool { state == .intact }

    /// Judges the counts of 10 minutes.
    ///
    /// - Parameter counts: the sums of all daemons.
    /// - Returns: the kind of evidence there is too much of; nil where all is well or too little is known.
    public static func judge(_ counts: PruneCounts) -> PruneEvidence.Strength? {
        guard counts.answers >= leastAnswers else { return nil }
        if exceeds(counts.weak, percent: weakPercent, of: counts.answers) { return .weak }
        return exceeds(counts.strong, percent: strongPercent, of: counts.answers) ? .strong : nil
    }

    /// Counts what this daemon was answered, and blows if that is too much by itself.
    ///
    /// Count before disabling, so that the evidence that blows the fuse is not followed any more.
    ///
    /// - Parameters:
    ///   - counts: since the last call.
    ///   - now: the time.
    /// - Returns: ``state`` after it.
    @discardableResult
    public mutating func record(_ counts: PruneCounts, at now: Microseconds) -> State {
        counted.add(counts, at: now)
        return observe(counted.total(at: now), at: now)
    }

    /// Judges sums from the database, which hold the answers of all daemons.
    ///
    /// - Parameters:
    ///   - shared: the sums over ``window``.
    ///   - now: the time.
    /// - Returns: ``state`` after it.
    @discardableResult
    public mutating func observe(_ shared: PruneCounts, at now: Microseconds) -> State {
        if state == .intact, let strength = Self.judge(shared) {
            state = .blown(by: strength, at: now)
        }
        return state
    }

    /// Another daemon's fuse blew, or it was blown when this one started.
    ///
    /// - Parameters:
    ///   - strength: by which evidence.
    ///   - now: when.
    public mutating func blow(by strength: PruneEvidence.Strength, at now: Microseconds) {
        if state == .intact { state = .blown(by: strength, at: now) }
    }

    /// An operator looked into it: counting starts anew.
    public mutating func reset() {
        self = PruneFuse()
    }

    private static func exceeds(_ part: Int, percent: Int, of whole: Int) -> Bool {
        part.multipliedClamping(by: 100) > whole.multipliedClamping(by: percent)
    }
}
