package import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// Reads what metrics tell of the database beside its status: what it costs depends on what waits and runs, not on what
    /// was.
    ///
    /// - Returns: how long what is ready has waited, and what campaigns do.
    /// - Throws: ``ToolError``.
    package func figures() async throws(ToolError) -> (ages: [ReadyAge], campaigns: [LiveCampaigns]) {
        try await run { connection throws(PostgresError) in
            (ages: try connection.run(ReadyAges()), campaigns: try connection.run(ListLiveCampaigns()))
        }
    }
}
