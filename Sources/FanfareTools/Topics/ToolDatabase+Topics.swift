public import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Counts the enabled devices that a change of subscriptions would be about.
    ///
    /// - Parameter filter: selects the devices.
    /// - Returns: their number.
    /// - Throws: ``ToolError``.
    public func countTokens(_ filter: FCMDeviceFilter) async throws(ToolError) -> Int64 {
        try await rows(of: SQL.countTokens(filter.app, filter.topic, filter.users, 0)).first ?? 0
    }

    /// Subscribes devices to one of FCM's own topics, or unsubscribes them, for rules with `to: { fcm_topic: … }`.
    ///
    /// Continues an attempt of the same change that was not finished. It runs on the thread of the database's session,
    /// which it uses until its end.
    ///
    /// - Parameters:
    ///   - change: the change.
    ///   - configuration: checked values, with the app's credentials.
    ///   - environment: variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - stop: stops it from another thread.
    ///   - tell: receives reports; if it throws, the change ends at once without storing more progress.
    /// - Returns: the result.
    /// - Throws: ``ToolError``; what was done before the error stays done, and another attempt continues there.
    public func apply(
        _ change: TopicChange,
        _ configuration: Configuration,
        environment: [String: String],
        stop: TopicStop = TopicStop(),
        tell: @escaping @Sendable (TopicNews) throws(ToolError) -> Void
    ) async throws(ToolError) -> TopicReport {
        let files = CredentialFiles(environment: environment)
        let outcome = try await run { connection throws(PostgresError) -> Result<TopicReport, ToolError> in
            do {
                let sender = try TopicSender(change, configuration, files: files, stop: stop)
                defer { sender.close() }
                var job = TopicJob(change, sender, tell: tell)
                return .success(try job.run(on: connection))
            } catch let error as PostgresError {
                throw error
            } catch {
                return .failure(ToolError(error))
            }
        }
        return try outcome.get()
    }
}
