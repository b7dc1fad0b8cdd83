internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareLogging
internal import FanfareStages
internal import FanfareStore
internal import Logging
internal import PostgresClient
internal import Threading

/// The periodic chores of maintenance.
struct Chores {
    /// The time limit for deleting one kind of rows; the rest is deleted in the next run, a minute later.
    private static let patience = 10 * Micros.second
    /// The number of sets of batches that are ended in one run.
    private static let endings = 5
    /// The failures in a row after which `fanfare.health` shows a chore.
    private static let failuresToTell = 3

    private typealias Chore = (name: String, work: (PostgresConnection) throws(PostgresError) -> Void)

    private let context: StageContext
    private let counters: PipelineCounters
    /// The number of failures in a row by chore, without chores whose last run succeeded.
    private var failures: [String: Int] = [:]

    /// Creates the chores without failures.
    ///
    /// - Parameters:
    ///   - context: what every stage needs.
    ///   - counters: count the batches that were ended.
    init(context: StageContext, counters: PipelineCounters) {
        (self.context, self.counters) = (context, counters)
    }

    /// Runs each chore once; a failing chore stops no other, and `fanfare.health` shows it after three failures in a
    /// row.
    ///
    /// The logs come first, because a whole day can be deleted there.
    ///
    /// - Parameter connection: a connection outside a transaction.
    /// - Throws: the first error, after all chores were tried; at once if the connection is lost.
    mutating func run(on connection: PostgresConnection) throws(PostgresError) {
        var errors: [String: PostgresError] = [:]
        var first: PostgresError?
        for (name, work) in chores {
            do throws(PostgresError) {
                try work(connection)
            } catch {
                guard !error.isConnectionLost else { throw error }
                errors[name] = error
                first = first ?? error
            }
        }
        failures = errors.reduce(into: [:]) { $0[$1.key] = (failures[$1.key] ?? 0) + 1 }
        try tell(errors, on: connection)
        if let first { throw first }
    }

    private var chores: [Chore] {
        [
            ("keep_logs", keepLogsWithinRetention), ("end_batches", endBatches), ("fold_stats", foldStats),
            ("fold_traffic", foldTraffic), ("forget_answers", forgetAnswers), ("forget_keys", forgetKeys),
            ("forget_cancels", forgetCancels), ("forget_collapse_keys", forgetCollapseKeys),
            ("forget_gates", forgetGates), ("forget_runs", forgetRuns), ("forget_grants", forgetGrants),
            ("forget_audiences", forgetAudiences), ("forget_shapes", forgetShapes), ("forget_requests", forgetAsked),
            ("forget_feedback", forgetFeedback), ("forget_scheduled", forgetScheduled),
            ("forget_retractions", forgetRetractions), ("forget_reports", forgetReports),
        ]
    }

    private func tell(_ errors: [String: PostgresError], on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.runReturningCount(SQL.endChoreAlarms(Array(errors.keys)))
        for (name, error) in errors {
            guard let count = failures[name], count >= Self.failuresToTell else { continue }
            let detail = "failed \(count) times in a row: \(error.message)"
            _ = try connection.runReturningCount(SQL.raiseChoreAlarm(name, detail))
        }
    }

    /// Ends batches that expired before any daemon claimed them.
    private func endBatches(on connection: PostgresConnection) throws(PostgresError) {
        var ended: Int64 = 0
        defer {
            if ended > 0 {
                context.logger.warning(
                    "batches were too late before any daemon claimed them; does an app lack credentials?",
                    metadata: .init([.count: "\(ended)"])
                )
            }
        }
        for _ in 0..<Self.endings {
            let batches = try connection.run(EndBatches()).first ?? 0
            ended += batches
            counters.closed(batches)
            guard batches == EndBatches.limit else { return }
        }
    }

    private func foldStats(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.runReturningCount(SQL.foldStats())
    }

    private func foldTraffic(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.runReturningCount(SQL.foldTraffic())
        let days = Int32(clamping: context.settings.logRetentionDays)
        _ = try connection.runReturningCount(SQL.forgetTraffic(days))
    }

    private func forgetAnswers(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.runReturningCount(SQL.forgetAnswers())
    }

    private func forgetKeys(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetKeys(context.settings.keyRetentionSeconds), on: connection)
    }

    private func forgetCancels(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetCancels(context.settings.keyRetentionSeconds), on: connection)
    }

    private func forgetCollapseKeys(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetCollapseKeys(), on: connection)
    }

    private func forgetGates(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.runReturningCount(SQL.forgetGates())
    }

    private func forgetAudiences(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetAudiences(), on: connection)
    }

    private func forgetScheduled(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetScheduledEvents(Int32(clamping: context.settings.logRetentionDays)), on: connection)
    }

    /// Ends the shapes of messages that are no longer sent.
    private func forgetShapes(on connection: PostgresConnection) throws(PostgresError) {
        let days = Int32(clamping: context.settings.logRetentionDays)
        _ = try connection.runReturningCount(SQL.retireShapes(days))
        _ = try connection.runReturningCount(SQL.endShapes(days))
    }

    private func forgetRuns(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetRuns(), on: connection)
    }

    private func forgetGrants(on connection: PostgresConnection) throws(PostgresError) {
        _ = try connection.runReturningCount(SQL.forgetGrants())
    }

    /// Deletes old HTTP requests, actions, imports and changes of topics.
    private func forgetAsked(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetRequests(context.settings.keyRetentionSeconds), on: connection)
        let days = context.settings.logRetentionDays
        try exhaust(SQL.forgetActions(Int32(clamping: days)), on: connection)
        try exhaust(SQL.forgetImports(), on: connection)
        try exhaust(SQL.forgetTopicChanges(), on: connection)
    }

    /// Deletes feedback one day after the batches that it is about.
    private func forgetFeedback(on connection: PostgresConnection) throws(PostgresError) {
        let days = context.settings.logRetentionDays + 1
        try exhaust(SQL.forgetFeedback(Int32(clamping: days)), on: connection)
    }

    /// Deletes retractions as old as the logs, and values and paths by which no rule finds events.
    private func forgetRetractions(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetRetractions(Int32(clamping: context.settings.logRetentionDays)), on: connection)
        // The first call ends paths. Then their values are deleted, and the second call deletes the paths.
        let days = Int32(clamping: context.settings.logRetentionDays)
        _ = try connection.runReturningCount(SQL.forgetValuePaths(days))
        try exhaust(SQL.forgetValues(days), on: connection)
        _ = try connection.runReturningCount(SQL.forgetValuePaths(days))
    }

    /// Deletes old counts, actions older than their retention, and what apps do not keep by device once it has counted.
    private func forgetReports(on connection: PostgresConnection) throws(PostgresError) {
        try exhaust(SQL.forgetReportCounts(), on: connection)
        try exhaust(SQL.forgetTouches(), on: connection)
        try exhaust(SQL.forgetReportActions(Int32(clamping: context.settings.reportRetentionDays)), on: connection)
        _ = try connection.runReturningCount(SQL.forgetReportDevices())
    }

    /// Runs a deleting statement until no rows are left or the time is used up.
    private func exhaust(
        _ statement: some BoundStatement,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let end = Clocks.steady + Self.patience
        while try connection.runReturningCount(statement) == Forgetting.limit, Clocks.steady < end {}
    }

    private func keepLogsWithinRetention(on connection: PostgresConnection) throws(PostgresError) {
        let days = Int32(clamping: context.settings.logRetentionDays)
        for day in try connection.run(SQL.oldLogDays(days)) {
            try emptyIfOver(day, on: connection)
            try exhaust(SQL.forgetBatches(day, days), on: connection)
            try exhaust(SQL.forgetEvents(day, days), on: connection)
            try exhaust(SQL.forgetReports(day, days), on: connection)
        }
    }

    /// Empties a partition whose days are past retention.
    ///
    /// If a reader holds a lock, this is retried a minute later.
    private func emptyIfOver(_ day: Int16, on connection: PostgresConnection) throws(PostgresError) {
        let isOver = SQL.isRingDayOver(day, Int32(clamping: context.settings.logRetentionDays))
        guard try connection.run(isOver).first == true else { return }
        let partitions = RingDay(day)
        do throws(PostgresError) {
            let isEmptied = try connection.transaction { connection throws(PostgresError) in
                try partitions.lock(on: connection)
                // The check is repeated under the lock, because a planner may have written in between.
                guard try connection.run(isOver).first == true else { return false }
                try partitions.empty(on: connection)
                return true
            }
            if isEmptied { context.logger.notice("a log partition was emptied", metadata: .init([.count: "\(day)"])) }
        } catch {
            guard error.sqlState == "55P03" else { throw error }
        }
    }
}
