internal import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// How long to wait for a daemon's verdict.
    private static let patience = Duration.seconds(5)

    /// Waits a few seconds for a daemon's verdict on new versions; the session is free between polls.
    ///
    /// - Parameter isUnchecked: returns whether the verdict is still missing.
    /// - Returns: whether a live daemon checks new versions.
    /// - Throws: ``ToolError``.
    func awaitVerdict(
        isUnchecked: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Bool
    ) async throws(ToolError) -> Bool {
        let hasDaemon = try await rows(of: SQL.isDaemonAlive()).first ?? false
        let deadline = ContinuousClock.now + Self.patience
        while hasDaemon, ContinuousClock.now < deadline, try await run(isUnchecked) {
            // In a cancelled task the sleep returns at once, and the next query throws.
            try? await Task.sleep(for: .milliseconds(100))
        }
        return hasDaemon
    }
}
