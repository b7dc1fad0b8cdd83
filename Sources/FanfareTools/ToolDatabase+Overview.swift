internal import FanfareCore
package import FanfareRecords
internal import FanfareStages
package import FanfareStore
internal import PostgresClient

/// The fates of events and outcomes of pushes over a period, in equal steps.
package struct TrafficFigures: Sendable {
    /// The upper bounds of the latency buckets, in seconds; a last bucket holds longer times.
    package static let bounds = PipelineMetric.emitToAccepted.bounds ?? []

    /// The outcomes by step, outcome and reason.
    package let outcomes: [OutcomesOverTimeRow]
    /// The time from an event's emit to the provider's acceptance of its pushes; the code is the number of the bucket.
    package let times: [CountsOverTimeRow]
    /// The events of all apps that left the outbox; the code is the number of the fate.
    package let fates: [CountsOverTimeRow]
    /// The meanings of the outcomes.
    package let meanings: [OutcomeMeaningsRow]
}

extension ToolDatabase {
    /// Reads the fates of events and the outcomes of pushes.
    ///
    /// - Parameters:
    ///   - since: the start of the period, in microseconds since 1970.
    ///   - stepSeconds: the length of a step.
    ///   - app: the app whose pushes are counted; nil for all.
    /// - Returns: the figures.
    /// - Throws: ``ToolError``.
    package func traffic(since: Int64, stepSeconds: Int32, app: String?) async throws(ToolError) -> TrafficFigures {
        let since = Timestamp(microseconds: since)
        return try await run { connection throws(PostgresError) in
            TrafficFigures(
                outcomes: try connection.run(SQL.outcomesOverTime(since, stepSeconds, app)),
                times: try connection.run(SQL.countsOverTime(TrafficKind.latency.rawValue, since, stepSeconds, app)),
                fates: try connection.run(SQL.countsOverTime(TrafficKind.fate.rawValue, since, stepSeconds, nil)),
                meanings: try connection.run(SQL.outcomeMeanings())
            )
        }
    }

    /// Reads the approximate number of deliveries that wait to be sent.
    ///
    /// - Returns: the backlog by target, lane and gate.
    /// - Throws: ``ToolError``.
    package func backlog() async throws(ToolError) -> [BacklogRow] {
        try await run { connection throws(PostgresError) in try connection.run(SQL.listBacklog()) }
    }

    /// Reads the progress of running campaigns.
    ///
    /// - Returns: the runs, in the order in which they fired.
    /// - Throws: ``ToolError``.
    package func runningCampaigns() async throws(ToolError) -> [CampaignProgress] {
        try await run { connection throws(PostgresError) in
            var progress: [CampaignProgress] = []
            for run in try connection.run(SQL.runningCampaigns()) {
                let attempts = try connection.run(SQL.countAttempts(run.runID))
                progress.append(CampaignProgress(run: run, attempts: attempts))
            }
            return progress
        }
    }
}
