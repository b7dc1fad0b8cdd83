internal import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// How long a daemon's verdict is waited for.
    private static let patience = Duration.seconds(5)

    /// Waits a little for a daemon's verdict on what was put, with the session free in between.
    ///
    /// - Parameter isUnchecked: whether it is still to come.
    /// - Returns: whether a daemon lives that gives one.
    /// - Throws: ``ToolError``.
    func awaitVerdict(
        isUnchecked: @escaping @Sendable (PostgresConnection) throws(PostgresError) -> Bool
    ) async throws(ToolError) -> Bool {
        let hasDaemon = try await run { connection throws(PostgresError) in
            try connection.run(IsDaemonAlive()).first ?? false
        }
        let deadline = ContinuousClock.now + Self.patience
        while hasDaemon, ContinuousClock.now < deadline, try await run(isUnchecked) {
            // A task that is cancelled does not sleep, and the next look at the database says so.
            try? await Task.sleep(for: .milliseconds(100))
        }
        return hasDaemon
    }
}
