internal import FanfareCore
internal import Logging
internal import PostgresClient

/// Takes events out of the outbox and makes batches of them; hands those of an event that came alone to the senders.
///
/// Between events its session listens: what wakes it is warm when it plans. The two advisory locks tell emitters whether
/// anybody has to be woken; a missed wake costs latency, never an event, since every sleep begins with a sweep and is bounded.
final class Planner: Stage {
    static let name = "planner"
    /// What emit notifies.
    static let wakeChannel = "fanfare_wake"
    let name: String = Planner.name
    private let context: StageContext
    private let stopping = StopSignal()
    private let wake: WakeSignal
    private let makeLoneClaimer: (@Sendable () -> LoneClaimer)?

    /// Makes a planner.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - wake: raised when there may be events of which its session hears nothing.
    ///   - makeLoneClaimer: what claims a lone event's batches at once; nil if all is left to the claimer.
    init(context: StageContext, wake: WakeSignal, makeLoneClaimer: (@Sendable () -> LoneClaimer)? = nil) {
        self.context = context
        self.wake = wake
        self.makeLoneClaimer = makeLoneClaimer
    }

    func stop() {
        stopping.stop()
        wake.wake()
    }

    func run() {
        let session = Session(context.database.planning(name), of: context, stop: stopping)
        let lone = makeLoneClaimer?()
        while !stopping.isStopped {
            context.pulses.beat(name)
            // After any error: a lock that the same connection took twice would outlive its release, and whoever holds the
            // drainer's keeps all emitters from waking anybody.
            session.close()
            context.status.listening(false)
            let begun = session.attempt { connection throws(PostgresError) in
                let listener = try WakeListener(context: context, on: connection)
                var loop = PlannerLoop(context: context, lone: lone)
                let wait = try loop.begin(on: connection)
                return (listener, loop, wait)
            }
            guard var (listener, loop, wait) = begun else { continue }
            // One connection's life: its floor and its locks go with it.
            while !stopping.isStopped {
                let next = session.attempt { connection throws(PostgresError) in
                    let wasNotified = try listener.sleep(atMost: wait, orUntil: wake, on: connection)
                    guard !stopping.isStopped else { return wait }
                    return try loop.wakeUp(wasNotified: wasNotified, on: connection)
                }
                guard let next else { break }
                wait = next
            }
        }
        session.close()
        context.status.listening(false)
    }
}

/// What a planner does on one session.
struct PlannerLoop {
    /// Events in one statement.
    static let roundSize = 1000
    /// How long a planner that drains waits for more before it sleeps: shorter than anybody notices, long enough that a
    /// steady stream of events is not notified one by one.
    private static let linger = Duration.milliseconds(2)
    /// The longest pause between rounds: of a stream, and of less than ``stream`` events a round.
    private static let longestLinger = (stream: Duration.milliseconds(50), trickle: Duration.milliseconds(10))
    /// Events in a round that show a stream.
    private static let stream = 8

    /// How often the outbox is looked through from zero, whatever happens.
    ///
    /// A planner that dies before its commit gives back what it had taken, below the floors of all who passed that by. A look
    /// takes 64 ms behind a million dead rows.
    var sweepInterval = 10 * Micros.second

    private let context: StageContext
    private var floor = OutboxFloor()
    private var sweptAt = Clocks.steady
    private var schedule = SweepSchedule()
    private let audiences: AudiencePlanner
    private let lone: LoneClaimer?

    init(context: StageContext, lone: LoneClaimer? = nil) {
        self.context = context
        self.lone = lone
        audiences = AudiencePlanner(context: context)
    }

    /// Starts on a new session: drains what is there, then falls asleep.
    ///
    /// - Returns: how long to sleep at most.
    mutating func begin(on connection: PostgresConnection) throws(PostgresError) -> Duration {
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
        let round = try plan(on: connection)
        let next = schedule.looked(
            round.snapshot?.sweep ?? SweepSnapshot(xmin: 0, xmax: 0),
            found: round.taken,
            // What a dead planner gives back was announced to that one.
            wasNotified: wasNotified || sweptAt != lastSweep,
            at: Clocks.steady
        )
        if next.warnsOfLostWakes {
            context.logger.warning(
                "events were found that nobody announced; does somebody hold Fanfare's advisory locks?"
            )
        }
        guard round.taken > 1 else { return next.wait }
        _ = try connection.run(EndSleep())
        try drain(on: connection)
        return try fallAsleep(on: connection)
    }

    /// Plans round after round until nothing comes any more, telling emitters that they need not notify.
    private mutating func drain(on connection: PostgresConnection) throws(PostgresError) {
        let isDraining = try connection.run(TryLock(key: AdvisoryLock.draining)).first ?? false
        repeat {
            var taken = 0
            repeat {
                let start = Clocks.steady
                taken = try plan(on: connection).taken
                // A full round shows that there is more already.
                if taken < Self.roundSize {
                    context.linger(Self.pause(after: taken, cost: .microseconds(Clocks.steady - start)))
                }
            } while taken > 0
        } while try plan(on: connection).taken > 0
        isDrainer = isDraining
    }

    private var isDrainer = false

    /// How long to let events gather after a round.
    ///
    /// Batches of a few pairs would cost more to plan, claim, fetch and close than to send. So the pause grows with what a
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
        var last = try plan(on: connection)
        while last.taken > 0 { last = try plan(on: connection) }
        let snapshot = last.snapshot?.sweep ?? SweepSnapshot(xmin: 0, xmax: 0)
        return schedule.fellAsleep(snapshot, at: Clocks.steady).wait
    }

    /// One round in one transaction.
    ///
    /// A set that fails goes to the side queue, unevaluated.
    private mutating func plan(on connection: PostgresConnection) throws(PostgresError) -> PlanRoundSummary {
        context.pulses.beat(Planner.name)
        if Clocks.steady - sweptAt >= sweepInterval {
            sweptAt = Clocks.steady
            floor = OutboxFloor()
        }
        do throws(PostgresError) {
            let round = try planSet(on: connection)
            // The session itself says so only when the backlog of an outage is drained, which may take long.
            context.outage.works(Planner.name)
            return round
        } catch {
            guard error.isDataError || error.isCancelled else {
                // A rollback of our own: what it had taken lies below the floor again.
                floor = OutboxFloor()
                throw error
            }
            let size = try connection.run(SetAside(floor: floor, limit: Self.roundSize)).first ?? 0
            context.logger.warning(
                "a set of events could not be planned; each is planned alone",
                metadata: .init([.error: "\(error)", .count: "\(size)"])
            )
            context.bells.maintain.ring()
            var summary = PlanRoundSummary([])
            summary.taken = size
            return summary
        }
    }

    private mutating func planSet(on connection: PostgresConnection) throws(PostgresError) -> PlanRoundSummary {
        var statement = PlanRound(floor: floor, limit: Self.roundSize, batchSize: context.settings.batchSize)
        try lone?.settle(on: connection)
        statement.claim = lone?.begin()
        let (claim, lone) = (statement.claim, lone)
        let round: PlanRoundSummary
        let counts: PlannedCounts
        let prepared: [BatchPreparer.Prepared]
        do throws(PostgresError) {
            (round, counts, prepared) = try planSet(by: statement, on: connection)
        } catch {
            if let lone, let claim { lone.end(claim, with: error) }
            throw error
        }
        if let lone, let claim { lone.end(claim, handing: prepared) }
        floor.advance(after: round, limit: Self.roundSize)
        if round.batches + counts.batches > prepared.count { context.bells.claim.ring() }
        if counts.plans > 0 { context.bells.slice.ring() }
        context.counters.planned(round)
        return round
    }

    private func planSet(
        by statement: PlanRound,
        on connection: PostgresConnection
    ) throws(PostgresError) -> (PlanRoundSummary, PlannedCounts, [BatchPreparer.Prepared]) {
        try connection.transaction(beginningWith: statement) { connection, parts throws(PostgresError) in
            let round = PlanRoundSummary(parts)
            let counts = try audiences.plan(round.deferred, on: connection)
            var prepared: [BatchPreparer.Prepared] = []
            if let lone, let claim = statement.claim { prepared = try lone.prepare(round, claim, on: connection) }
            // What is left of a lone event is not to wait for the claimer to wake: that takes longer than the commit.
            if round.taken == 1 && round.batches + counts.batches > prepared.count { context.bells.claim.ring() }
            return (round, counts, prepared)
        }
    }
}

extension OutboxSnapshot {
    /// The two ids that a sleeper goes by.
    var sweep: SweepSnapshot {
        SweepSnapshot(xmin: UInt64(oldest) ?? 0, xmax: UInt64(next) ?? 0)
    }
}

extension SweepSchedule.Next {
    /// How long to sleep from now.
    var wait: Duration {
        .microseconds(max(0, sweepAt - Clocks.steady))
    }
}

extension PostgresError {
    /// Whether the statement's data made it fail, so that the same data would fail again: what alone may cost an event.
    ///
    /// Classes 22 (data), 23 (constraints) and 54 (limits). A table that is missing or has changed, a broken disk: whatever
    /// else the server says hits every event, and none any more once it is mended. Of a time-out (57014), which may be a
    /// jsonpath that is a bomb or a machine that is slow, the caller decides: ``PostgresError/isCancelled``.
    var isDataError: Bool {
        code == .server && ["22", "23", "54"].contains(sqlState?.prefix(2))
    }
}
