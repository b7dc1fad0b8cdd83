internal import FanfareCore
internal import FanfareLogging
package import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Fires due campaigns, emits due digests and scheduled events, and takes events back, on a session and thread of its own
/// in every daemon, so that no other work delays them.
///
/// Schedulers of several daemons work at the same time without conflicts. Each run is fired in one transaction that
/// locks its campaign, the transaction that emits a digest or a scheduled event deletes it, and retractions are locked
/// while they are worked on. ``QueryReader`` runs the campaigns' queries.
package final class Scheduler: Stage {
    package let name = "scheduler"
    /// How many runs are fired before the query runs are checked.
    private static let limit = 200
    /// The longest known time until something is due; the controller rings for what becomes due sooner.
    static let longestWait = Micros.second
    /// The shortest sleep, used if something is due but cannot be fired yet.
    static let shortestWait = 100 * Micros.millisecond

    let context: StageContext
    private let reader: Bell
    /// Rung for batches of silent pushes.
    let claimer: Bell
    /// The known rules, which render the identifiers of what is taken back.
    let rules: RuleCache
    private let running: RunningQuery
    private let stopping = StopSignal()
    private let bell: Bell
    /// The clock step for which campaigns were last rescheduled, by this host's steady clock.
    private let rescheduledFor = Locked(Microseconds.min)

    /// Creates the stage.
    ///
    /// - Parameters:
    ///   - context: what every stage needs.
    ///   - bell: rung when something is due.
    ///   - reader: rung when runs wait for their campaigns' queries.
    ///   - claimer: rung for batches of silent pushes.
    ///   - rules: the known rules.
    ///   - running: the current query of this daemon's ``QueryReader``.
    package init(
        context: StageContext,
        bell: Bell,
        reader: Bell,
        claimer: Bell,
        rules: RuleCache,
        running: RunningQuery
    ) {
        (self.context, self.bell, self.reader, self.running) = (context, bell, reader, running)
        (self.claimer, self.rules) = (claimer, rules)
    }

    package func stop() {
        stopping.stop()
        bell.ring()
    }

    package func run() {
        context.takeTurns(on: context.database.queue(name), until: stopping) { session in
            // Without a lease the database's time is not kept up to date.
            guard let owner = context.owner(orSleepingBy: bell) else { return }
            let wait = session.attempt { connection throws(PostgresError) in
                let now = Timestamp(microseconds: context.lease.databaseNow)
                try reschedule(on: connection, at: now)
                let wait = try fire(on: connection, at: now)
                try checkQueryRuns(of: owner, on: connection)
                return min(
                    wait,
                    try emitDigests(on: connection, at: now),
                    try emitScheduled(on: connection, at: now),
                    try takeBack(on: connection, at: now)
                )
            }
            if wait == Self.longestWait {
                context.sleep(name, on: bell)
            } else {
                bell.wait(timeout: .microseconds(wait ?? 0))
            }
        }
    }

    /// Fires the campaigns that are due.
    ///
    /// - Parameters:
    ///   - connection: a connection outside a transaction.
    ///   - now: the database's time.
    /// - Returns: the time until the next campaign is due, in microseconds, at most one second.
    /// - Throws: errors of the server.
    func fire(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) -> Microseconds {
        for _ in 0..<Self.limit {
            guard let fired = try connection.run(SQL.fireDue(now)).first else {
                let next = try connection.run(SQL.nextCampaign()).first
                let wait = next.map { $0.microseconds - now.microseconds } ?? Self.longestWait
                return min(max(wait, Self.shortestWait), Self.longestWait)
            }
            tell(fired)
        }
        return 0
    }

    /// Repeats a step while something is due.
    ///
    /// - Parameters:
    ///   - next: reads when the next row is due; no row if there is none.
    ///   - now: the database's time.
    ///   - turns: how often the step is repeated before campaigns are checked again.
    ///   - connection: a connection outside a transaction.
    ///   - step: works on some of the due rows, and returns whether it found any.
    /// - Returns: the time until the next row is due, in microseconds, at most one second.
    /// - Throws: errors of the server.
    func repeatWhileDue<Next: BoundStatement>(
        _ next: Next,
        at now: Timestamp,
        atMost turns: Int,
        on connection: PostgresConnection,
        _ step: (PostgresConnection) throws(PostgresError) -> Bool
    ) throws(PostgresError) -> Microseconds where Next.Row == Timestamp {
        for _ in 0..<turns {
            guard let due = try connection.run(next).first else { return Self.longestWait }
            guard due <= now else {
                return min(max(due.microseconds - now.microseconds, Self.shortestWait), Self.longestWait)
            }
            context.pulses.beat(name)
            guard try step(connection) else { return Self.shortestWait }
        }
        return 0
    }

    /// Recomputes the next time of each campaign: at the start, and once after each step of the database's clock.
    func reschedule(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) {
        let setAt = context.lease.clockStep?.noticedAt ?? 0
        guard rescheduledFor.withLock({ $0 < setAt }) else { return }
        _ = try connection.run(SQL.reschedule(now))
        rescheduledFor.withLock { $0 = setAt }
    }

    /// Starts waiting query runs that no daemon owns, and stops the current one if this daemon no longer owns it.
    private func checkQueryRuns(of owner: Int32, on connection: PostgresConnection) throws(PostgresError) {
        let current = running.run
        let queryRuns = try connection.run(SQL.queryRuns(owner))
        if let current, !queryRuns.contains(where: { $0.id == current && $0.owner == owner }) {
            running.giveUp(current)
        }
        if queryRuns.contains(where: { $0.isFree && $0.id != current }) { reader.ring() }
    }

    private func tell(_ fired: FiredRun) {
        var metadata = Logger.Metadata([.app: "\(fired.app)", .campaignName: "\(fired.campaign)"])
        if let skippedAt = fired.skippedAt {
            context.logger.warning(
                "runs of a campaign were missed and skipped up to this one",
                metadata: metadata.merging(.init([.detail: "\(skippedAt)"])) { $1 }
            )
        }
        if let eventID = fired.eventID {
            metadata[.eventID] = "\(eventID)"
            context.logger.notice("campaign fired", metadata: metadata)
        } else if let problem = fired.problem {
            metadata[.detail] = "\(problem)"
            context.logger.error("campaign not fired", metadata: metadata)
        }
    }
}
