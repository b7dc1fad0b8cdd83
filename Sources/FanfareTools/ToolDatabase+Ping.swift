internal import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Checks that the database answers, by reading its time.
    ///
    /// - Throws: ``ToolError`` if it does not answer.
    public func ping() async throws(ToolError) {
        _ = try await run { connection throws(PostgresError) in try connection.run(SQL.databaseNow()).first }
    }
}
