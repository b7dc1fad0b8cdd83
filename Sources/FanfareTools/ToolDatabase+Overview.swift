internal import FanfareCore
internal import FanfareStages
package import FanfareStore
internal import PostgresClient

/// What became of events and pushes over some time, in equal steps.
package struct TrafficFigures: Sendable {
    /// The upper bounds of the classes of times, in seconds; what took longer is in a last one.
    package static let bounds = PipelineMetric.emitToAccepted.bounds ?? []

    /// By step, outcome and reason.
    package let outcomes: [OutcomesOverTime.Row]
    /// How long accepted pushes took since their events' emit: the code is the number of the class.
    package let times: [CountsOverTime.Row]
    /// Events of all apps that left the outbox: the code is the number of the fate.
    package let fates: [CountsOverTime.Row]
    /// What outcomes mean.
    package let meanings: [OutcomeMeanings.Row]
}

extension ToolDatabase {
    /// Reads what became of events and pushes.
    ///
    /// - Parameters:
    ///   - since: when it begins, in microseconds since 1970.
    ///   - stepSeconds: how long a step is.
    ///   - app: whose pushes; nil for all.
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

    /// Reads what waits to be sent, about.
    ///
    /// - Returns: by target, lane and gate.
    /// - Throws: ``ToolError``.
    package func backlog() async throws(ToolError) -> [BacklogRow] {
        try await run { connection throws(PostgresError) in try connection.run(ListBacklog()) }
    }

    /// Reads how far campaigns are that run.
    ///
    /// - Returns: in the order in which they were fired.
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
