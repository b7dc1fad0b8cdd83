internal import FanfareCore
internal import Logging
internal import PostgresClient

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
}
