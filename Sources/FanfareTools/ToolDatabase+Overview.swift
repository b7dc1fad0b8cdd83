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
    package let outcomes: [OutcomesOverTime.Row]
    /// The time from an event's emit to the provider's acceptance of its pushes; the code is the number of the bucket.
    package let times: [CountsOverTime.Row]
    /// The events of all apps that left the outbox; the code is the number of the fate.
    package let fates: [CountsOverTime.Row]
    /// The meanings of the outcomes.
    package let meanings: [OutcomeMeanings.Row]
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
                outcomes: try connection.run(OutcomesOverTime(since: since, stepSeconds: stepSeconds, app: app)),
                times: try connection.run(CountsOverTime(.latency, since: since, stepSeconds: stepSeconds, app: app)),
                fates: try connection.run(CountsOverTime(.fate, since: since, stepSeconds: stepSeconds)),
                meanings: try connection.run(OutcomeMeanings())
            )
        }
    }

    /// Reads the approximate number of deliveries that wait to be sent.
    ///
    /// - Returns: the backlog by target, lane and gate.
    /// - Throws: ``ToolError``.
    package func backlog() async throws(ToolError) -> [BacklogRow] {
        try await run { connection throws(PostgresError) in try connection.run(ListBacklog()) }
    }

    /// Reads the progress of running campaigns.
    ///
    /// - Returns: the runs, in the order in which they fired.
    /// - Throws: ``ToolError``.
    package func runningCampaigns() async throws(ToolError) -> [CampaignProgress] {
        try await run { connection throws(PostgresError) in
            var progress: [CampaignProgress] = []
            for run in try connection.run(RunningCampaigns()) {
                let attempts = try connection.run(CountAttempts(run: run.runID))
                progress.append(CampaignProgress(run: run, attempts: attempts))
            }
            return progress
        }
    }
}
