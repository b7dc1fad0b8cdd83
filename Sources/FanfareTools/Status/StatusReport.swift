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

    /// The report as three tables for people.
    public var text: String {
        let name = installation.name ?? "(unnamed)"
        let adopted = installation.isAdopted && installation.isSameDatabase ? "" : ", not adopted as this database"
        let head = "installation \(name)\(adopted), schema version \(installation.schemaVersion)"
        return [head, daemonText, queueText, healthText].joined(separator: "\n\n")
    }

    private var daemonText: String {
        guard !daemons.isEmpty else { return "no daemon runs; events wait until one does" }
        var table = TextTable([
            "daemon", "host", "pid", "version", "state", "seen", "listen", "leads", "breakers", "fuse",
        ])
        for daemon in daemons { table.append(daemon.cells(at: now)) }
        return table.text
    }

    private var queueText: String {
        guard !queues.isEmpty else { return unplannedText ?? "nothing is waiting to be sent" }
        var table = TextTable(["app", "provider", "environment", "lane", "ready", "in flight", "waiting", "oldest"])
        for queue in queues { table.append(queue.cells(at: now)) }
        return [table.text, unplannedText].compactMap(\.self).joined(separator: "\n\n")
    }

    /// `286 events not planned yet, the oldest emitted 35s ago`.
    private var unplannedText: String? {
        guard let unplanned, let oldest = unplanned.oldest else { return nil }
        let count = "\(unplanned.events)\(unplanned.isMore ? "+" : "") event\(unplanned.events == 1 ? "" : "s")"
        return "\(count) not planned yet, the oldest emitted \(oldest.age(at: now)) ago"
    }

    private var healthText: String {
        var table = TextTable(["health", "", "detail"])
        for row in health { table.append([row.name, row.isOK ? "ok" : "look", row.detail]) }
        return table.text
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
    /// Returns the age: `3s`, `5m`, `2h`, `4d`.
    ///
    /// - Parameter now: the time by the same clock.
    /// - Returns: a whole number of the largest suitable unit.
    func age(at now: Timestamp) -> String {
        let seconds = max(0, now.microseconds - microseconds) / 1_000_000
        switch seconds {
        case ..<120: return "\(seconds)s"
        case ..<7_200: return "\(seconds / 60)m"
        case ..<172_800: return "\(seconds / 3_600)h"
        default: return "\(seconds / 86_400)d"
        }
    }

    /// Returns the age in seconds.
    func secondsAgo(at now: Timestamp) -> JSONValue {
        JSONValue(max(0, now.microseconds - microseconds) / 1_000_000)
    }
}
