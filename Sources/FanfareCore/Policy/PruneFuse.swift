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

/// How many devices may be disabled, by the kind of evidence.
public struct PruneAllowance: Equatable, Sendable {
    /// On weak evidence.
    public private(set) var weak: Int
    /// On strong evidence.
    public private(set) var strong: Int

    /// An allowance.
    ///
    /// - Parameters:
    ///   - weak: on weak evidence.
    ///   - strong: on strong evidence.
    public init(weak: Int, strong: Int) {
        self.weak = weak
        self.strong = strong
    }

    /// Whether one more may be disabled.
    ///
    /// - Parameter strength: on which evidence.
    /// - Returns: false when all that were allowed are taken.
    public func allows(_ strength: PruneEvidence.Strength) -> Bool {
        switch strength {
        case .weak: weak > 0
        case .strong: strong > 0
        }
    }

    /// Counts one that is disabled.
    ///
    /// - Parameter strength: on which evidence.
    public mutating func take(_ strength: PruneEvidence.Strength) {
        switch strength {
        case .weak: weak -= 1
        case .strong: strong -= 1
        }
    }
}

/// Stops pruning when so many tokens seem dead that the evidence must be wrong.
///
/// One for each (app, environment). A wrong host or a restored database makes every token look dead; without a fuse that empties the table of devices.
/// What is disabled while it is intact is bounded too (``allowance(in:for:)``).
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
    /// Devices that are disabled on evidence of either kind as long as there are too few answers for a share: as many as a
    /// small installation may have of dead tokens.
    public static let alwaysFollowed = 100

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

    /// How much of the newest evidence may be followed.
    ///
    /// All of it where there is not too much. Before there are ``leastAnswers``, as much altogether as among so many would not
    /// blow the fuse, and at least ``alwaysFollowed``: however fast answers come, no more is disabled until they are enough.
    ///
    /// - Parameters:
    ///   - counts: the sums of all daemons, the newest included.
    ///   - fresh: the newest evidence.
    /// - Returns: how many of `fresh` may be disabled.
    public static func allowance(in counts: PruneCounts, for fresh: PruneCounts) -> PruneAllowance {
        guard judge(counts) == nil else { return PruneAllowance(weak: 0, strong: 0) }
        guard counts.answers < leastAnswers else { return PruneAllowance(weak: fresh.weak, strong: fresh.strong) }
        func allowed(_ percent: Int, _ counted: Int, _ fresh: Int) -> Int {
            let most = max(alwaysFollowed, leastAnswers * percent / 100)
            return min(fresh, max(0, most - (counted - fresh)))
        }
        return PruneAllowance(
            weak: allowed(weakPercent, counts.weak, fresh.weak),
            strong: allowed(strongPercent, counts.strong, fresh.strong)
        )
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
