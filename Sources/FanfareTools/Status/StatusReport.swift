public import FanfareCore
package import FanfareRecords
internal import FanfareService
package import FanfareStore
package import PostgresClient

/// The state of the daemons of one database, as the database knows it.
public struct StatusReport: Sendable {
    package let installation: Installation
    package let now: Timestamp
    package let daemons: [DaemonRow]
    package let queues: [QueueRow]
    package let health: [HealthRow]
    /// The events that no daemon has planned yet; nil if they were not counted.
    package let unplanned: UnplannedEventsRow?

    /// Whether at least one daemon lives.
    public var hasDaemon: Bool { daemons.contains(where: \.isAlive) }

    /// The report as JSON.
    public var json: JSONValue {
        [
            "installation": JSONValue(orNull: installation.name),
            "schema_version": JSONValue(Int64(installation.schemaVersion)),
            "adopted": .bool(installation.isAdopted && installation.isSameDatabase),
            "at": JSONValue(now),
            "daemons": .array(daemons.map { $0.json(at: now) }),
            "queues": .array(queues.map { $0.json(at: now) }),
            "unplanned": unplanned?.json(at: now) ?? .null,
            "health": .array(health.map(\.json)),
        ]
    }
}

extension ToolDatabase {
    /// Reads the state of the daemons.
    ///
    /// - Parameter withQueues: whether to count the queues, which takes time in proportion to their length.
    /// - Returns: the report.
    /// - Throws: ``ToolError``.
    public func status(withQueues: Bool = true) async throws(ToolError) -> StatusReport {
        try await run { connection throws(PostgresError) in
            guard let installation = try connection.run(SQL.readInstallation()).first,
                let now = try connection.run(SQL.databaseNow()).first
            else { throw PostgresError(.protocolMismatch, message: "the schema has no version") }
            return StatusReport(
                installation: installation,
                now: now,
                daemons: try connection.run(SQL.listDaemons()),
                queues: withQueues ? try connection.run(SQL.listQueues()) : [],
                health: try connection.run(SQL.listHealth()),
                unplanned: withQueues ? try connection.run(SQL.unplannedEvents()).first : nil
            )
        }
    }
}

extension UnplannedEventsRow {
    fileprivate func json(at now: Timestamp) -> JSONValue {
        [
            "events": JSONValue(events), "is_more": .bool(isMore),
            "oldest_seconds": oldest?.secondsAgo(at: now) ?? .null,
        ]
    }
}

extension Timestamp {
    /// Returns the age in seconds.
    func secondsAgo(at now: Timestamp) -> JSONValue {
        JSONValue(max(0, now.microseconds - microseconds) / 1_000_000)
    }
}
