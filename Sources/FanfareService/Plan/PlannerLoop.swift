internal import FanfareCore
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// What a planner does on one session.
struct PlannerLoop {
    /// How long a planner that drains waits for more before it sleeps: shorter than anybody notices, long enough that a
    /// steady stream of events is not notified one by one.
    private static let linger = Duration.milliseconds(2)
    /// The longest pause between rounds: of a stream, and of less than ``stream`` events a round.
    private static let longestLinger = (stream: Duration.milliseconds(50), trickle: Duration.milliseconds(10))
    /// Events in a round that show a stream.
    private static let stream = 8
    /// How long to sleep at most while events may wait for the judgement of a rule.
    private static let judgementWait = Duration.milliseconds(50)
    /// How often the urgent way is gone, at most.
    private static let urgentInterval = 50 * Micros.millisecond

    /// How often the outbox is looked through from zero, whatever happens.
    ///
    /// A planner that dies before its commit gives back what it had taken, below the floors of all who passed that by. A look
    /// takes 64 ms behind a million dead rows.
    var sweepInterval = 10 * Micros.second

    let context: StageContext
    var audiences: AudiencePlanner
    let lone: LoneClaimer?
    var tracks = OutboxTracks()
    var suspects = Suspects()
    /// Which rule versions events waited for in the last round.
    var unjudged: String?
    /// Whether the main way may take long, so that urgent events go before it.
    ///
    /// So it is on a new session, which may find a backlog.
    var isBehind = true
    /// Whether something is left to look at that no way knows of.
    var hasMore = false
    /// How many events the last round took.
    var lastTaken = 0
    /// How many events the round had with which the session was lost because planning them took too long; nil if it was not.
    var lostWith: Int?
    /// The session's statement time-out, in milliseconds.
    var timeout: Int64 = 0
    private let lostBefore: Int?
    private var rules = EventTypeRules()
    private var readRulesAt: Microseconds = 0
    private var sweptAt = Clocks.steady
    private var urgentAt: Microseconds = 0
    private var nextHeavy = 0
    private var schedule = SweepSchedule()
    private var isDrainer = false

    /// Makes a loop.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - lone: what claims a lone event's batches; nil if all is left to the claimer.
    ///   - lost: with how many events the last session was lost, as ``lostWith``.
    init(context: StageContext, lone: LoneClaimer? = nil, lost: Int? = nil) {
        self.context = context
        self.lone = lone
        lostBefore = lost
        audiences = AudiencePlanner(context: context)
    }

    /// Starts on a new session: judges rules, drains what is there, then falls asleep.
    ///
    /// - Returns: how long to sleep at most.
    mutating func begin(on connection: PostgresConnection) throws(PostgresError) -> Duration {
        try judgeRules(on: connection)
        try connection.set(SessionSettings([("lock_timeout", String(Self.lockTimeout))]))
        _ = try readRules(on: connection)
        if let lostBefore { try avoid(setOf: lostBefore, on: connection) }
        try drain(on: connection)
        return try fallAsleep(on: connection)
    }

    /// Looks into the outbox, and drains it if more than a single event came.
    ///
    /// A single event is planned without touching the locks: its push should leave at once (``LoneClaimer``).
    ///
    /// - Returns: how long to sleep at most.
    mutating func wakeUp(wasNotified: Bool, on connection: PostgresConnection) throws(PostgresError) -> Duration {
        let lastSweep = sweptAt
        let mayWait = unjudged != nil
        let cycle = try goAround(on: connection)
        let next = schedule.looked(
            cycle.snapshot,
            found: cycle.taken,
            // What a dead planner gives back was announced to that one, and what waited for a rule was when it came.
            wasNotified: wasNotified || sweptAt != lastSweep || mayWait,
            at: Clocks.steady
        )
        if next.warnsOfLostWakes {
            context.logger.warning(
                "events arrived without a notification: a daemon ended a moment ago, or another session holds Fanfare's advisory locks"
            )
        }
        guard cycle.taken > 1 || !cycle.isAtEnd else { return sleep(next) }
        _ = try connection.run(EndSleep())
        try drain(on: connection)
        return try fallAsleep(on: connection)
    }

    /// Plans round after round until nothing comes any more, telling emitters that they need not notify.
    private mutating func drain(on connection: PostgresConnection) throws(PostgresError) {
        let isDraining = try connection.run(TryLock(key: AdvisoryLock.draining)).first ?? false
        var cycle: Cycle
        repeat {
            repeat {
                let start = Clocks.steady
                cycle = try goAround(on: connection)
                // A full round shows that there is more already.
                if !cycle.isFull {
                    context.linger(Self.pause(after: cycle.taken, cost: .microseconds(Clocks.steady - start)))
                }
            } while !cycle.isIdle
            cycle = try goAround(on: connection)
        } while !cycle.isIdle
        isDrainer = isDraining
    }

    /// How long to let events gather after a round.
    ///
    /// Batches of a few deliveries would cost more to plan, claim, fetch and close than to send. So the pause grows with what a
    /// round costs, and rounds take at most a tenth of the time. After a few events it stays short all the same: what was
    /// dear was the beginning of a broadcast then, or the machine is busy, and a one-off comes next that should not wait.
    static func pause(after taken: Int, cost: Duration) -> Duration {
        min(max(cost * 9, linger), taken < stream ? longestLinger.trickle : longestLinger.stream)
    }

    /// Takes the sleeper's lock, releases the drainer's, and sweeps a last time.
    private mutating func fallAsleep(on connection: PostgresConnection) throws(PostgresError) -> Duration {
        try connection.run(BeginSleep())
        if isDrainer {
            _ = try connection.run(Unlock(key: AdvisoryLock.draining))
            isDrainer = false
        }
        var last = try goAround(on: connection)
        while !last.isIdle { last = try goAround(on: connection) }
        return sleep(schedule.fellAsleep(last.snapshot, at: Clocks.steady))
    }

    private func sleep(_ next: SweepSchedule.Next) -> Duration {
        unjudged == nil ? next.wait : min(next.wait, Self.judgementWait)
    }

    /// Judges the rules that nobody has, before any event is planned by an older version.
    ///
    /// Whatever is in the way is in the way of whoever leads maintenance too, and told there; events of rules without a
    /// version in force wait.
    private func judgeRules(on connection: PostgresConnection) throws(PostgresError) {
        do throws(PostgresError) {
            try RuleChecker(logger: context.logger).check(on: connection)
        } catch {
            guard error.code == .server else { throw error }
        }
    }
}

extension PlannerLoop {
    /// What once around the ways did.
    private struct Cycle {
        var taken = 0
        /// Whether there is more already.
        var isFull = false
        /// Whether all that was there has been looked at.
        var isAtEnd = false
        /// Of the main way's round.
        var snapshot = SweepSnapshot(xmin: 0, xmax: 0)

        /// Whether nothing is left to do.
        var isIdle: Bool { taken == 0 && isAtEnd }
    }

    /// Goes a round on each way.
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

    /// Goes to the end of the urgent way, or as far as there is a round's work on it.
    private mutating func runAhead(on connection: PostgresConnection) throws(PostgresError) -> Int {
        var taken = 0
        repeat {
            taken += try plan(.urgent, on: connection).taken
        } while !hasMore && !tracks[.urgent].isAtEnd && taken < OutboxTracks.roundSize
        return taken
    }

    /// Goes a round of the type with many rules whose turn it is.
    private mutating func planHeavy(on connection: PostgresConnection) throws(PostgresError) -> Int {
        for _ in tracks.heavy {
            guard !hasMore else { break }
            nextHeavy = (nextHeavy + 1) % tracks.heavy.count
            let taken = try plan(.heavy(nextHeavy), on: connection).taken
            guard taken == 0 else { return taken }
        }
        return 0
    }

    /// Has all ways begin anew: what was on one way may be on another now.
    mutating func startOver() {
        tracks = OutboxTracks(rules, hasUnjudged: unjudged != nil, suspects: suspects.sizes, before: tracks)
        hasMore = true
    }

    /// Learns which event types have many rules, and which are urgent.
    ///
    /// At most a hundredth of the time.
    ///
    /// - Returns: whether that has changed.
    mutating func readRules(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        let start = Clocks.steady
        let fresh = EventTypeRules(try connection.run(EventTypeRuleCounts()))
        readRulesAt = Clocks.steady + max(Micros.second, (Clocks.steady - start) * 100)
        guard fresh != rules else { return false }
        rules = fresh
        startOver()
        return true
    }
}
