package import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Reads the database figures of the metrics that the status does not have.
    ///
    /// The cost depends on the deliveries waiting and the campaigns running, not on past work.
    ///
    /// - Returns: how long ready deliveries have waited, and the running campaigns.
    /// - Throws: ``ToolError``.
    package func figures() async throws(ToolError) -> (ages: [ReadyAge], campaigns: [LiveCampaigns]) {
        try await run { connection throws(PostgresError) in
            (ages: try connection.run(SQL.readyAges()), campaigns: try connection.run(SQL.listLiveCampaigns()))
        }
    }
}
