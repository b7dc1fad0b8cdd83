/// The two transaction ids of `pg_current_snapshot()` that matter for sweeping.
public struct SweepSnapshot: Equatable, Sendable {
    /// The lowest transaction id still open; equal to ``xmax`` where none is.
    public let xmin: UInt64
    /// One more than the highest transaction id that had ended.
    public let xmax: UInt64

    /// A snapshot.
    ///
    /// - Parameters:
    ///   - xmin: `pg_snapshot_xmin`.
    ///   - xmax: `pg_snapshot_xmax`.
    public init(xmin: UInt64, xmax: UInt64) {
        self.xmin = xmin
        self.xmax = xmax
    }

    /// Whether a writing transaction was open, which may have emitted without a notification.
    public var hasOpenWriters: Bool { xmin < xmax }
}

/// When a sleeping planner looks into the outbox without being notified.
///
/// An event whose transaction was open during the last sweep may have been emitted while a daemon drained, and then nobody
/// is notified. Times are microseconds of any steady clock.
public struct SweepSchedule: Equatable, Sendable {
    /// The wait between sweeps where nothing is expected.
    public static let idleWait: Microseconds = Micros.second
    /// The waits while writers of the last sweep are open: the first, doubling to the longest.
    public static let settlingWaits: ClosedRange<Microseconds> = 2 * Micros.millisecond...50 * Micros.millisecond
    /// The wait, and for how long, after events were found that nobody announced.
    public static let suspiciousWait: Microseconds = 50 * Micros.millisecond
    /// How long a find makes suspicious.
    public static let suspiciousFor: Microseconds = Micros.minute

    /// What the planner waits for.
    public enum State: Equatable, Sendable {
        /// Nothing but notifications. Can transition to: ``settling(until:wait:)``, when the planner drained and fell asleep
        /// again.
        case idle
        /// The end of transactions below `until`. Can transition to: ``idle``, when a snapshot's xmin has reached it.
        case settling(until: UInt64, wait: Microseconds)
    }

    /// What follows from a look into the outbox.
    public struct Next: Equatable, Sendable {
        /// When to look again, unless notified before.
        public let sweepAt: Microseconds
        /// Whether somebody who holds the wake locks should be looked for and warned of.
        public let warnsOfLostWakes: Bool
    }

    /// What the planner waits for.
    public private(set) var state = State.idle
    private var suspiciousUntil: Microseconds = .min

    /// A schedule that expects nothing.
    public init() {}

    /// The planner has drained, holds the sleeper's lock, has released the drainer's, and swept a last time.
    ///
    /// - Parameters:
    ///   - snapshot: of that sweep.
    ///   - now: the time after it.
    /// - Returns: when to look first.
    public mutating func fellAsleep(_ snapshot: SweepSnapshot, at now: Microseconds) -> Next {
        state =
            snapshot.hasOpenWriters
            ? .settling(until: snapshot.xmax, wait: Self.settlingWaits.lowerBound) : .idle
        return next(at: now, warns: false)
    }

    /// A look into the outbox while asleep.
    ///
    /// - Parameters:
    ///   - snapshot: of the look.
    ///   - found: how many events it found.
    ///   - wasNotified: whether a notification has come since the look before, or came with this one.
    ///   - now: the time after it.
    /// - Returns: when to look again. Whoever found events drains them first and then falls asleep anew.
    public mutating func looked(
        _ snapshot: SweepSnapshot,
        found: Int,
        wasNotified: Bool,
        at now: Microseconds
    ) -> Next {
        // While it settles, finding what nobody announced is what the looking is for.
        let isLost = state == .idle && found > 0 && !wasNotified
        let isNews = isLost && suspiciousUntil <= now
        if isLost { suspiciousUntil = now.addingClamping(Self.suspiciousFor) }
        if case .settling(let until, let wait) = state {
            state =
                snapshot.xmin >= until
                ? .idle : .settling(until: until, wait: min(wait * 2, Self.settlingWaits.upperBound))
        }
        return next(at: now, warns: isNews)
    }

    private func next(at now: Microseconds, warns: Bool) -> Next {
        let calm = now < suspiciousUntil ? Self.suspiciousWait : Self.idleWait
        switch state {
        case .idle: return Next(sweepAt: now.addingClamping(calm), warnsOfLostWakes: warns)
        case .settling(_, let wait): return Next(sweepAt: now.addingClamping(wait), warnsOfLostWakes: warns)
        }
    }
}
