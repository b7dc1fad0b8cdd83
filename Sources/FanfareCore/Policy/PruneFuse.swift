/// The number of answers, and of evidence against tokens among them.
public struct PruneCounts: Equatable, Sendable, WindowTally {
    /// All answers of the providers.
    public var answers: Int
    /// Devices reported gone on weak evidence.
    public var weak: Int
    /// Devices reported gone on strong evidence.
    public var strong: Int

    /// Makes empty counts.
    public init() { self.init(answers: 0) }

    /// Makes counts.
    ///
    /// - Parameters:
    ///   - answers: the number of answers.
    ///   - weak: devices gone on weak evidence.
    ///   - strong: devices gone on strong evidence.
    public init(answers: Int, weak: Int = 0, strong: Int = 0) {
        self.answers = answers
        self.weak = weak
        self.strong = strong
    }

    /// Adds other counts.
    ///
    /// - Parameters:
    ///   - counts: the sum.
    ///   - other: the counts to add.
    public static func += (counts: inout PruneCounts, other: PruneCounts) {
        counts.answers += other.answers
        counts.weak += other.weak
        counts.strong += other.strong
    }
}

/// The number of devices that may be disabled, by the strength of the evidence.
public struct PruneAllowance: Equatable, Sendable {
    /// The devices on weak evidence.
    public private(set) var weak: Int
    /// The devices on strong evidence.
    public private(set) var strong: Int

    /// Makes an allowance.
    ///
    /// - Parameters:
    ///   - weak: the devices on weak evidence.
    ///   - strong: the devices on strong evidence.
    public init(weak: Int, strong: Int) {
        self.weak = weak
        self.strong = strong
    }

    /// Returns whether one more device may be disabled.
    ///
    /// - Parameter strength: the strength of the evidence.
    /// - Returns: false if the allowance is used up.
    public func allows(_ strength: PruneEvidence.Strength) -> Bool {
        switch strength {
        case .weak: weak > 0
        case .strong: strong > 0
        }
    }

    /// Counts a device that is disabled.
    ///
    /// - Parameter strength: the strength of the evidence.
    public mutating func take(_ strength: PruneEvidence.Strength) {
        switch strength {
        case .weak: weak -= 1
        case .strong: strong -= 1
        }
    }
}

/// Stops pruning if so many tokens are reported dead that the evidence must be wrong.
///
/// There is one for each app and environment. A wrong host or a restored database makes every token look dead; without
/// a fuse, pruning would then disable all devices. The number of devices disabled while the fuse is intact is bounded
/// too (``allowance(in:for:)``). It blows at more than 2 % on weak or 25 % on strong evidence, among at least 1,000
/// answers in 10 minutes. Times are microseconds of any monotonic clock.
public struct PruneFuse: Equatable, Sendable {
    /// The period over which answers count.
    public static let window: Microseconds = 10 * Micros.minute
    /// The number of answers below which the shares are not evaluated.
    public static let leastAnswers = 1000
    /// The highest share of weak evidence, in percent, that does not blow the fuse.
    public static let weakPercent = 2
    /// The highest share of strong evidence, in percent, that does not blow the fuse.
    public static let strongPercent = 25
    /// The number of devices that may be disabled, for each strength of evidence, before there are enough answers for a
    /// share: the dead tokens that a small installation may have.
    public static let alwaysFollowed = 100

    /// The state of the fuse.
    public enum State: Equatable, Sendable {
        /// Devices are disabled on evidence. Can transition to: ``blown(by:at:)``.
        case intact
        /// Devices are kept, and an alarm is active. Can transition to: ``intact``, only by ``PruneFuse/reset()``.
        case blown(by: PruneEvidence.Strength, at: Microseconds)
    }

    /// The state of the fuse.
    public private(set) var state = State.intact
    private var counted = SlidingWindow<PruneCounts>(width: window, buckets: 60)

    /// Makes an intact fuse.
    public init() {}

    /// Whether devices may be disabled now.
    public var allowsPruning: Bool { state == .intact }

    /// Evaluates the counts of 10 minutes.
    ///
    /// - Parameter counts: the sums over all daemons.
    /// - Returns: the strength of evidence that is too frequent; nil if neither is, or there are too few answers.
    public static func judge(_ counts: PruneCounts) -> PruneEvidence.Strength? {
        guard counts.answers >= leastAnswers else { return nil }
        if exceeds(counts.weak, percent: weakPercent, of: counts.answers) { return .weak }
        return exceeds(counts.strong, percent: strongPercent, of: counts.answers) ? .strong : nil
    }

    /// Returns how much of the newest evidence may be acted on.
    ///
    /// All of it if there is not too much. With fewer than ``leastAnswers`` answers, the total is limited to what would
    /// not blow the fuse among that many, but at least ``alwaysFollowed``: however fast answers arrive, no more devices
    /// are disabled before there are enough answers.
    ///
    /// - Parameters:
    ///   - counts: the sums over all daemons, including the newest answers.
    ///   - fresh: the newest evidence.
    /// - Returns: how many devices of `fresh` may be disabled.
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

    /// Counts this daemon's answers, and blows the fuse if their evidence alone is too much.
    ///
    /// Count before disabling, so that the evidence that blows the fuse is not acted on.
    ///
    /// - Parameters:
    ///   - counts: the answers since the last call.
    ///   - now: the time.
    /// - Returns: the new ``state``.
    @discardableResult
    public mutating func record(_ counts: PruneCounts, at now: Microseconds) -> State {
        counted.add(counts, at: now)
        return observe(counted.total(at: now), at: now)
    }

    /// Evaluates the sums in the database, which include the answers of all daemons.
    ///
    /// - Parameters:
    ///   - shared: the sums over ``window``.
    ///   - now: the time.
    /// - Returns: the new ``state``.
    @discardableResult
    public mutating func observe(_ shared: PruneCounts, at now: Microseconds) -> State {
        if state == .intact, let strength = Self.judge(shared) {
            state = .blown(by: strength, at: now)
        }
        return state
    }

    /// Handles a fuse that another daemon blew, or that was blown when this one started.
    ///
    /// - Parameters:
    ///   - strength: the strength of the evidence.
    ///   - now: the time.
    public mutating func blow(by strength: PruneEvidence.Strength, at now: Microseconds) {
        if state == .intact { state = .blown(by: strength, at: now) }
    }

    /// Resets the fuse, and its counts to zero, after an operator has checked the cause.
    public mutating func reset() {
        self = PruneFuse()
    }

    private static func exceeds(_ part: Int, percent: Int, of whole: Int) -> Bool {
        part.multipliedClamping(by: 100) > whole.multipliedClamping(by: percent)
    }
}
