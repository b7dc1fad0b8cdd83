internal import FanfareTools

extension APIContext {
    /// What the daemons do, read every second at most, however many pages are open.
    ///
    /// Without queues, whose rows it would count.
    ///
    /// - Returns: the report.
    /// - Throws: ``ToolError`` if the database cannot be asked.
    func status() async throws -> StatusReport {
        try await queries.status.value(for: 0) { [database] in try await database.status(withQueues: false) }
    }
}
