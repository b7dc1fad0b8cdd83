internal import FanfareCore
internal import Logging
internal import PostgresClient

/// What one daemon does for all: checks rules, plans the events whose set failed, keeps the logs within their ring,
/// folds counters.
///
/// Led by whoever holds the advisory lock.
final class Maintainer: Stage {
    let name = "maintenance"
    private static let choreInterval = Micros.minute

    private let context: StageContext
    private let stopping = StopSignal()

    init(context: StageContext) {
        self.context = context
    }

    func stop() {
        stopping.stop()
        context.bells.maintain.ring()
    }

    func run() {
        let options = context.database.queue(name)
        let session = Session(options: options, stop: stopping, logger: context.logger)
        var isLeader = false
        var choresAt: Microseconds = 0
        while !stopping.isStopped {
            let done: Void? = session.attempt(opened: { _ throws(PostgresError) in isLeader = false }) {
                connection throws(PostgresError) in
                if !isLeader { isLeader = try connection.run(TryLock(key: AdvisoryLock.maintenance)).first ?? false }
                context.status.lead(name, isLeader)
                guard isLeader else { return }
                try RuleChecker(logger: context.logger).check(on: connection)
                try SlowLane(context: context).plan(on: connection)
                if Clocks.steady >= choresAt {
                    choresAt = Clocks.steady + Self.choreInterval
                    try Chores(context: context).run(on: connection)
                }
            }
            if done == nil { context.status.lead(name, false) }
            context.bells.maintain.wait(timeout: .milliseconds(500))
        }
        session.close()
    }
}

/// Plans the events of the side queue one by one: an error is then the event's own, and ends it as refused.
struct SlowLane {
    /// What one event may take; a jsonpath can be a bomb.
    private static let timeout = "1s"

    let context: StageContext

    /// Plans all that wait.
    func plan(on connection: PostgresConnection) throws(PostgresError) {
        while try planOne(on: connection) {}
    }

    /// - Returns: false if there is none.
    private func planOne(on connection: PostgresConnection) throws(PostgresError) -> Bool {
        do throws(PostgresError) {
            let (round, counts) = try connection.transaction { connection throws(PostgresError) in
                try connection.execute("SET LOCAL statement_timeout = '\(Self.timeout)'")
                let statement = PlanSlowEvent(batchSize: context.settings.batchSize)
                let round = PlanRoundSummary(try connection.run(statement))
                return (round, try AudiencePlanner(context: context).plan(round.deferred, on: connection))
            }
            context.counters.planned(round)
            if round.batches + counts.batches > 0 { context.bells.claim.ring() }
            if counts.plans > 0 { context.bells.slice.ring() }
            return round.taken > 0
        } catch {
            guard error.isDataError else { throw error }
            let detail = "cannot be planned: SQLSTATE \(error.sqlState ?? "?"), \(error.message)"
            guard let id = try connection.run(RefuseSlowEvent(detail: detail)).first else { return false }
            context.logger.error(
                "an event was refused: planning it failed",
                metadata: .init([.eventID: "\(id)", .error: "\(error)"])
            )
            return true
        }
    }
}

/// What has to be done now and then.
struct Chores {
    let context: StageContext

    /// Does all of it once.
    func run(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.runReturningCount(FoldStats())
        while try connection.runReturningCount(
            ForgetKeys(retentionSeconds: context.settings.keyRetentionSeconds)
        ) == 10_000 {}
        _ = try connection.runReturningCount(ForgetFacts())
        for day in Int16(0)..<32 { try keepWithinRetention(day, on: connection) }
        try raiseAlarms(on: connection)
    }

    /// Empties a partition whose days are over.
    ///
    /// A reader in the way costs 200 ms and is tried again in a minute.
    private func keepWithinRetention(_ day: Int16, on connection: PostgresConnection) throws(PostgresError) {
        guard let seen = try connection.run(RingDayState(day: day)).first, isOver(seen) else { return }
        let suffix = (day < 10 ? "0" : "") + String(day)
        do throws(PostgresError) {
            let isEmptied = try connection.transaction { connection throws(PostgresError) in
                try connection.execute(
                    """
                    SET LOCAL lock_timeout = '200ms';
                    LOCK TABLE fanfare.event_log_\(suffix), fanfare.batch_log_\(suffix) IN ACCESS EXCLUSIVE MODE
                    """
                )
                // Looked at again under the lock: a planner may have written in between.
                guard let state = try connection.run(RingDayState(day: day)).first, isOver(state) else { return false }
                try connection.execute("TRUNCATE fanfare.event_log_\(suffix), fanfare.batch_log_\(suffix)")
                return true
            }
            if isEmptied { context.logger.notice("a log partition was emptied", metadata: .init([.count: "\(day)"])) }
        } catch {
            guard error.sqlState == "55P03" else { throw error }
        }
    }

    private func isOver(_ partition: RingPartition) -> Bool {
        partition.newestDay >= 0 && !partition.isReferredTo
            && Int(partition.newestDay) < partition.today - context.settings.logRetentionDays
    }

    private func raiseAlarms(on connection: PostgresConnection) throws(PostgresError) {
        for (id, target) in context.directory.all {
            let name = "prune_fuse/\(target.app)/\(target.environment)"
            if context.fuses.blown.contains(id) {
                let detail = "too many tokens seem dead; look at the provider's answers, then restart the daemons"
                _ = try connection.runReturningCount(RaiseAlarm(alarm: name, detail: detail))
            } else {
                _ = try connection.runReturningCount(ClearAlarm(alarm: name))
            }
        }
    }
}
