/// The two transaction ids of `pg_current_snapshot()` that matter for sweeps.
public struct SweepSnapshot: Equatable, Sendable {
    /// The lowest transaction id that is still in progress; equal to ``xmax`` if there is none.
    public let xmin: UInt64
    /// One more than the highest completed transaction id.
    public let xmax: UInt64

    /// Makes a snapshot.
    ///
    /// - Parameters:
    ///   - xmin: `pg_snapshot_xmin`.
    ///   - xmax: `pg_snapshot_xmax`.
    public init(xmin: UInt64, xmax: UInt64) {
        self.xmin = xmin
        self.xmax = xmax
    }

    /// Whether a writing transaction was in progress, which may have emitted an event without a notification.
    public var hasOpenWriters: Bool { xmin < xmax }
}

/// Decides when an idle planner polls the outbox without a notification.
///
/// A transaction that was in progress during the last sweep may have emitted an event while a daemon drained the
/// outbox, and then it sends no notification. Times are microseconds of any monotonic clock.
public struct SweepSchedule: Equatable, Sendable {
    /// The interval of sweeps if nothing is expected.
    public static let idleWait: Microseconds = Micros.second
    /// The waits while writers of the last sweep are in progress: the first one, doubled up to the longest.
    public static let settlingWaits: ClosedRange<Microseconds> = 2 * Micros.millisecond...50 * Micros.millisecond
    /// The interval of sweeps after events were found without a notification.
    public static let suspiciousWait: Microseconds = 50 * Micros.millisecond
    /// How long the shorter interval applies after such a find.
    public static let suspiciousFor: Microseconds = Micros.minute
    /// How long a notification may come after its event before it counts as lost: a poll that falls between a commit and the delivery of its
    /// notification finds the event first.
    public static let notificationDelay: Microseconds = Micros.second

    /// The event that the planner waits for.
    public enum State: Equatable, Sendable {
        /// Notifications only. Can transition to: ``settling(until:wait:)``, when the planner has drained the outbox
        /// and is idle again.
        case idle
        /// The end of transactions below `until`. Can transition to: ``idle``, when the xmin of a snapshot has reached
        /// it.
        case settling(until: UInt64, wait: Microseconds)
    }

    /// The result of a poll of the outbox.
    public struct Next: Equatable, Sendable {
        /// The time of the next poll, unless there is a notification before.
        public let sweepAt: Microseconds
        /// Whether to look for a session that holds the wake locks, and to warn of it.
        public let warnsOfLostWakes: Bool
    }

    /// The event that the planner waits for.
    public private(set) var state = State.idle
    private var suspiciousUntil: Microseconds = .min
    /// When events were found whose notification has not come since.
    private var unannouncedAt: Microseconds?

    /// Makes a schedule that expects nothing.
    public init() {}

    /// Handles the transition to idle: the planner has drained the outbox, holds the sleeper's lock, has released the
    /// drainer's, and has swept a last time.
    ///
    /// - Parameters:
    ///   - snapshot: the snapshot of that sweep.
    ///   - now: the time after the sweep.
    /// - Returns: the time of the first poll.
    public mutating func fellAsleep(_ snapshot: SweepSnapshot, at now: Microseconds) -> Next {
        state =
            snapshot.hasOpenWriters
            ? .settling(until: snapshot.xmax, wait: Self.settlingWaits.lowerBound) : .idle
        return next(at: now, warns: false)
    }

    /// Handles a poll of the outbox while idle.
    ///
    /// - Parameters:
    ///   - snapshot: the snapshot of the poll.
    ///   - found: the number of events found.
    ///   - wasNotified: whether a notification has arrived since the previous poll.
    ///   - now: the time after the poll.
    /// - Returns: the time of the next poll. A planner that finds events drains the outbox first, and then becomes idle
    ///   again.
    public mutating func looked(
        _ snapshot: SweepSnapshot,
        found: Int,
        wasNotified: Bool,
        at now: Microseconds
    ) -> Next {
        // In the state `settling`, events without a notification are expected.
        let isUnannounced = state == .idle && found > 0 && !wasNotified
        let isNews = isUnannounced && suspiciousUntil <= now
        if isUnannounced { suspiciousUntil = now.addingClamping(Self.suspiciousFor) }
        if isNews { unannouncedAt = now }
        if wasNotified { unannouncedAt = nil }
        let isLost = unannouncedAt.map { now >= $0.addingClamping(Self.notificationDelay) } ?? false
        if isLost { unannouncedAt = nil }
        if case .settling(let until, let wait) = state {
            state =
                snapshot.xmin >= until
                ? .idle : .settling(until: until, wait: min(wait * 2, Self.settlingWaits.upperBound))
        }
        return next(at: now, warns: isLost)
    }

    private func next(at now: Microseconds, warns: Bool) -> Next {
        let idle = now < suspiciousUntil ? Self.suspiciousWait : Self.idleWait
        switch state {
        case .idle: return Next(sweepAt: now.addingClamping(idle), warnsOfLostWakes: warns)
        case .settling(_, let wait): return Next(sweepAt: now.addingClamping(wait), warnsOfLostWakes: warns)
        }
    }
}
