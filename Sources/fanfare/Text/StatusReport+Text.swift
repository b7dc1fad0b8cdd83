import FanfareCore
import FanfareRecords
import FanfareStore
import FanfareTools
import PostgresClient

extension StatusReport {
    /// The report as three tables for people.
    var text: String {
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

extension DaemonRow {
    private var breakers: [String] {
        report["breakers"]?.objectValue?.members.map { "\($0.key) \($0.value.stringValue ?? $0.value.text)" } ?? []
    }

    fileprivate func cells(at now: Timestamp) -> [String] {
        let listening = report["listening"]?.boolValue
        return [
            "\(id) \(name)", host, "\(pid)", version, isAlive ? "alive for \(startedAt.age(at: now))" : "lease expired",
            heartbeatAt.age(at: now), listening == true ? "ok" : "down",
            leads.isEmpty ? "-" : leads.joined(separator: ", "),
            breakers.isEmpty ? "-" : breakers.joined(separator: ", "),
            fuses.isEmpty ? "ok" : "blown: \(fuses.joined(separator: ", "))",
        ]
    }
}

extension QueueRow {
    fileprivate func cells(at now: Timestamp) -> [String] {
        [
            app, provider, environment, lane, "\(ready)", "\(inFlight)", "\(waiting)", oldest?.age(at: now) ?? "-",
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
}
