internal import FanfareStages
package import FanfareTools
internal import PostgresClient

extension ToolDatabase {
    /// The upper bounds of the latency buckets, in seconds; a last bucket holds longer times.
    package static let latencyBounds = PipelineMetric.emitToAccepted.bounds ?? []

    /// Reads the progress of running campaigns.
    ///
    /// - Returns: the runs, in the order in which they fired.
    /// - Throws: ``ToolError``.
    package func runningCampaigns() async throws(ToolError) -> [CampaignProgress] {
        try await run { connection throws(PostgresError) in try CampaignProgress.running(on: connection) }
    }
}
