internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// The work of a planner on one session.
struct PlannerLoop {
    /// How long a draining planner waits for more events before it sleeps: too short to be noticed, and long enough
    /// that a steady stream of events does not cause one notification each.
    private static let linger = Duration.milliseconds(2)
    /// The longest pause between rounds: in a stream, and after rounds of fewer than ``stream`` events.
    private static let longestLinger = (stream: Duration.milliseconds(50), trickle: Duration.milliseconds(10))
    /// The number of events in a round from which they count as a stream.
    private static let stream = 8
    /// The longest sleep while events may wait for a rule to be checked.
    private static let judgementWait = Duration.milliseconds(50)
    /// The shortest time between two runs of the urgent track.
    private static let urgentInterval = 50 * Micros.millisecond

    /// How often the outbox is scanned from the start, regardless of notifications.
    ///
    /// A planner that dies before its commit releases its events, which then lie below the floors of all planners that
    /// skipped them. A scan takes 64 ms behind a million dead rows.
    var sweepInterval = 10 * Micros.second

    var planning: Planning
    let orders: Orders
    let lone: LoneClaimer?
    var tracks = OutboxTracks()
    var suspects = Suspects()
    /// The rule versions that events waited for in the last round.
    var unjudged: String?
    /// Whether the main track may have a backlog, so that urgent events are planned first.
    ///
    /// True on a new session, which may find a backlog.
    var isBehind = true
    /// Whether there may be events that no track has seen.
    var hasMore = false
    /// The number of events that the last round took.
    var lastTaken = 0
    /// The number of events in the round during which the session was lost because planning took too long; nil if it
    /// was not.
    var lostWith: Int?
    /// The session's statement timeout, in milliseconds.
    var timeout: Int64 = 0
    private let lostBefore: Int?
    private var rules = EventTypeRules()
    private var readRulesAt: Microseconds = 0
    private var sweptAt = Clocks.steady
    private var urgentAt: Microseconds = 0
    private var nextHeavy = 0
    private var schedule = SweepSchedule()
    private var isDrainer = false

    /// Creates a loop.
    ///
    /// - Parameters:
    ///   - planning: what planning needs.
    ///   - orders: the rates of apps.
    ///   - lone: claims a lone event's batches; nil to leave all batches to the claimer.
    ///   - lost: ``lostWith`` of the previous session.
    init(_ planning: Planning, _ orders: Orders, lone: LoneClaimer? = nil, lost: Int? = nil) {
        (self.planning, self.orders, self.lone, lostBefore) = (planning, orders, lone, lost)
    }

    var context: StageContext { planning.context }

    /// Starts on a new session: checks rules, drains the outbox, then prepares to sleep.
    ///
    /// - Returns: the longest time to sleep.
    mutating func begin(on connection: PostgresConnection) throws(PostgresError) -> Duration {
        try judgeRules(on: connection)
        try connection.set(SessionSettings([("lock_timeout", String(Self.lockTimeout))]))
        _ = try readRules(on: connection)
        if let lostBefore { try avoid(setOf: lostBefore, on: connection) }
        try drain(on: connection)
        return try fallAsleep(on: connection)
    }

    /// Plans what is in the outbox, and drains it if more than one event arrived.
    ///
    /// A single event is planned without acquiring or releasing locks, so that its push leaves at once
    /// (``LoneClaimer``).
    ///
    /// - Returns: the longest time to sleep.
    mutating func wakeUp(wasNotified: Bool, on connection: PostgresConnection) throws(PostgresError) -> Duration {
        let lastSweep = sweptAt
        let mayWait = unjudged != nil
        let nothing = wasNotified ? nil : try probe(on: connection)
        let cycle: Cycle
        if let nothing { cycle = nothing } else { cycle = try goAround(on: connection) }
        let next = schedule.looked(
            cycle.snapshot,
            found: cycle.taken,
            // Events released by a dead planner were notified to that planner, and events that waited for a rule were
            // notified when emitted. Neither counts as a lost notification.
            wasNotified: wasNotified || sweptAt != lastSweep || mayWait,
            at: Clocks.steady
        )
        if next.warnsOfLostWakes {
            context.logger.warning(
                "events arrived without a notification: a daemon ended a moment ago, or another session holds Fanfare's advisory locks"
            )
        }
        guard cycle.taken > 1 || !cycle.isAtEnd else { return sleep(next) }
        _ = try connection.run(SQL.endSleep())
        try drain(on: connection)
        return try fallAsleep(on: connection)
    }

    /// Plans rounds until no more events arrive, and tells emitters meanwhile that they need not notify.
    private mutating func drain(on connection: PostgresConnection) throws(PostgresError) {
        let isDraining = try connection.run(SQL.tryLock(AdvisoryLock.family, AdvisoryLock.draining)).first ?? false
        var cycle: Cycle
        repeat {
            repeat {
                let start = Clocks.steady
                cycle = try goAround(on: connection)
                // After a full round, more events are already waiting.
                if !cycle.isFull {
                    context.linger(Self.pause(after: cycle.taken, cost: .microseconds(Clocks.steady - start)))
                }
            } while !cycle.isIdle
            cycle = try goAround(on: connection)
        } while !cycle.isIdle
        isDrainer = isDraining
    }

    /// Returns the pause after a round, in which events accumulate.
    ///
    /// Batches of a few deliveries would cost more to plan, claim, fetch and close than to send. So the pause grows
    /// with the cost of a round, and rounds take at most a tenth of the time. After fewer than ``stream`` events the
    /// pause stays short even if the round was expensive: a broadcast had begun or the machine was busy, and a one-off
    /// event that comes next should not wait.
    static func pause(after taken: Int, cost: Duration) -> Duration {
        min(max(cost * 9, linger), taken < stream ? longestLinger.trickle : longestLinger.stream)
    }

    /// Acquires the sleeper's lock, releases the draining lock, and scans the outbox a last time.
    private mutating func fallAsleep(on connection: PostgresConnection) throws(PostgresError) -> Duration {
        try connection.run(SQL.beginSleep())
        if isDrainer {
            _ = try connection.run(SQL.unlock(AdvisoryLock.family, AdvisoryLock.draining))
            isDrainer = false
        }
        var last = try goAround(on: connection)
        while !last.isIdle { last = try goAround(on: connection) }
        return sleep(schedule.fellAsleep(last.snapshot, at: Clocks.steady))
    }

    private func sleep(_ next: SweepSchedule.Next) -> Duration {
        unjudged == nil ? next.wait : min(next.wait, Self.judgementWait)
    }

    /// Checks new rules, before an event is planned by an older version.
    ///
    /// Errors of the server are ignored: they also affect the maintenance leader, which reports them. Events of rules
    /// without an active version wait.
    private func judgeRules(on connection: PostgresConnection) throws(PostgresError) {
        do throws(PostgresError) {
            try RuleChecker(logger: context.logger).check(on: connection)
        } catch {
            guard error.code == .server else { throw error }
        }
    }
}

extension PlannerLoop {
    /// The result of one round on each track.
    private struct Cycle {
        var taken = 0
        /// Whether more events are waiting already.
        var isFull = false
        /// Whether every visible event has been examined.
        var isAtEnd = false
        /// The snapshot of the main track's round.
        var snapshot = SweepSnapshot(xmin: 0, xmax: 0)

        /// Whether there is nothing left to do.
        var isIdle: Bool { taken == 0 && isAtEnd }
    }

    /// Looks for events without planning a round.
    ///
    /// - Returns: a cycle that found nothing; nil if a round is needed.
    private func probe(on connection: PostgresConnection) throws(PostgresError) -> Cycle? {
        guard tracks.isMainOnly, tracks.areAtEnd, unjudged == nil, Clocks.steady - sweptAt < sweepInterval else {
            return nil
        }
        context.pulses.beat(Planner.name)
        guard let seen = try connection.run(SQL.outboxProbe(tracks.main.floor, 1)).first, !seen.hasEvents,
            let snapshot = seen.snapshot?.sweep
        else { return nil }
        return Cycle(isAtEnd: true, snapshot: snapshot)
    }

    /// Plans one round on each track.
    private mutating func goAround(on connection: PostgresConnection) throws(PostgresError) -> Cycle {
        var cycle = Cycle()
        if Clocks.steady - sweptAt >= sweepInterval {
            sweptAt = Clocks.steady
            startOver()
        }
        hasMore = false
        if isBehind, tracks.urgent != nil, Clocks.steady >= urgentAt {
            cycle.taken += try runAhead(on: connection)
            urgentAt = Clocks.steady + Self.urgentInterval
        }
        let round = try plan(.main, on: connection)
        cycle.taken += round.taken
        isBehind = hasMore || tracks.main.isFull
        if let snapshot = round.snapshot?.sweep { cycle.snapshot = snapshot }
        cycle.taken += try planHeavy(on: connection)
        if !hasMore, tracks.suspects != nil { cycle.taken += try plan(.suspects, on: connection).taken }
        if Clocks.steady >= readRulesAt { _ = try readRules(on: connection) }
        if suspects.forget(at: Clocks.steady) { startOver() }
        cycle.isAtEnd = !hasMore && tracks.areAtEnd
        cycle.isFull = !cycle.isAtEnd || tracks.isFull
        return cycle
    }

    /// Runs the urgent track to its end, or until it has taken a round's worth of events.
    private mutating func runAhead(on connection: PostgresConnection) throws(PostgresError) -> Int {
        var taken = 0
        repeat {
            taken += try plan(.urgent, on: connection).taken
        } while !hasMore && !tracks[.urgent].isAtEnd && taken < OutboxTracks.roundSize
        return taken
    }

    /// Plans a round of the next event type with many rules.
    private mutating func planHeavy(on connection: PostgresConnection) throws(PostgresError) -> Int {
        for _ in tracks.heavy {
            guard !hasMore else { break }
            nextHeavy = (nextHeavy + 1) % tracks.heavy.count
            let taken = try plan(.heavy(nextHeavy), on: connection).taken
            guard taken == 0 else { return taken }
        }
        return 0
    }

    /// Restarts all tracks, because events may have moved between tracks.
    mutating func startOver() {
        tracks = OutboxTracks(rules, hasUnjudged: unjudged != nil, suspects: suspects.sizes, before: tracks)
        hasMore = true
    }

    /// Reads which event types have many rules, and which are urgent.
    ///
    /// It takes at most a hundredth of the time.
    ///
    /// - Returns: whether anything changed.
    mutating func readRules(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let start = Clocks.steady
        let fresh = EventTypeRules(try connection.run(SQL.eventTypeRuleCounts()))
        readRulesAt = Clocks.steady + max(Micros.second, (Clocks.steady - start) * 100)
        guard fresh != rules else { return false }
        rules = fresh
        startOver()
        return true
    }
}
