internal import FanfareTools

extension APIContext {
    /// Returns the state of the daemons, read at most once a second for all open pages.
    ///
    /// Without the queues, whose rows it would have to count.
    ///
    /// - Returns: the report.
    /// - Throws: ``ToolError`` if the query fails.
    func status() async throws -> StatusReport {
        try await queries.status.value(for: 0) { [database] in try await database.status(withQueues: false) }
    }
}
