internal import FanfareCore
internal import FanfareLogging
package import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// Fires campaigns that are due, and emits what rules gathered until now, on a session and a thread of its own in every daemon, so that nothing else delays it.
///
/// Two that work at once do each other no harm: each run is fired by one transaction, which locks its campaign, and what was
/// gathered leaves by one, which takes it away. Their queries are read by ``QueryReader``.
package final class Scheduler: Stage {
    package let name = "scheduler"
    /// How many are fired before the readings are looked at.
    private static let limit = 200
    /// The longest sleep; what is put into force meanwhile may be due at once.
    static let longestWait = Micros.second
    /// The shortest, where what is due may not be fired yet.
    static let shortestWait = 100 * Micros.millisecond

    let context: StageContext
    private let running: RunningQuery
    private let stopping = StopSignal()
    private let bell = Bell()
    /// When the clock was set before campaigns were last rescheduled, by our steady clock.
    private let rescheduledFor = Locked(Microseconds.min)

    /// Makes a scheduler.
    ///
    /// - Parameters:
    ///   - context: what all stages share.
    ///   - running: what this daemon's reader reads.
    package init(context: StageContext, running: RunningQuery) {
        (self.context, self.running) = (context, running)
    }

    package func stop() {
        stopping.stop()
        bell.ring()
    }

    package func run() {
        let session = Session(context.database.queue(name), of: context, stop: stopping)
        while !stopping.isStopped {
            context.pulses.beat(name)
            // Whose clock is the database's only while it is asked.
            guard let owner = context.lease.owner else {
                bell.wait(timeout: .milliseconds(200))
                continue
            }
            let wait = session.attempt { connection throws(PostgresError) in
                let now = Timestamp(microseconds: context.lease.databaseNow)
                try reschedule(on: connection, at: now)
                let wait = try fire(on: connection, at: now)
                try checkQueryRuns(of: owner, on: connection)
                return min(wait, try emitDigests(on: connection, at: now))
            }
            bell.wait(timeout: .microseconds(wait ?? 0))
        }
        session.close()
    }

    /// Fires what is due.
    ///
    /// - Parameters:
    ///   - connection: outside a transaction.
    ///   - now: the database's time.
    /// - Returns: how long nothing will be due, in microseconds, a second at most.
    /// - Throws: what the database says.
    func fire(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) -> Microseconds {
        for _ in 0..<Self.limit {
            guard let fired = try connection.run(FireDue(now: now)).first else {
                let next = try connection.run(NextCampaign()).first
                let wait = next.map { $0.microseconds - now.microseconds } ?? Self.longestWait
                return min(max(wait, Self.shortestWait), Self.longestWait)
            }
            tell(fired)
        }
        return 0
    }

    /// Computes again when each campaign is due next: at the start, and once after each step of the clock.
    func reschedule(on connection: PostgresConnection, at now: Timestamp) throws(PostgresError) {
        let setAt = context.lease.clockStep?.noticedAt ?? 0
        guard rescheduledFor.withLock({ $0 < setAt }) else { return }
        _ = try connection.run(Reschedule(now: now))
        rescheduledFor.withLock { $0 = setAt }
    }

    /// Has this daemon read what nobody reads, and read no more of what is not its own any more.
    private func checkQueryRuns(of owner: Int32, on connection: PostgresConnection) throws(PostgresError) {
        let current = running.run
        let queryRuns = try connection.run(QueryRuns(owner: owner))
        if let current, !queryRuns.contains(where: { $0.id == current && $0.owner == owner }) {
            running.giveUp(current)
        }
        if queryRuns.contains(where: { $0.isFree && $0.id != current }) { context.bells.read.ring() }
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
