internal import FanfareCore
internal import PostgresClient

/// A daemon that is on the list.
struct DaemonRow: Sendable {
    let id: Int32
    let name: String
    let host: String
    let pid: Int32
    let version: String
    let startedAt: Timestamp
    let heartbeatAt: Timestamp
    let isAlive: Bool
    let leads: [String]
    /// What it says of itself with each heartbeat (StatusBoard).
    let report: JSONValue

    private var breakers: [String] {
        report["breakers"]?.objectValue?.members.map { "\($0.key) \($0.value.stringValue ?? $0.value.text)" } ?? []
    }

    private var fuses: [String] {
        (report["fuses_blown"]?.arrayValue ?? []).compactMap(\.stringValue)
    }

    func json(at now: Timestamp) -> JSONValue {
        [
            "id": JSONValue(Int64(id)), "name": .string(name), "host": .string(host), "pid": JSONValue(Int64(pid)),
            "version": .string(version), "alive": .bool(isAlive), "started_at": JSONValue(startedAt),
            "heartbeat_seconds": heartbeatAt.secondsAgo(at: now), "leads": .array(leads.map(JSONValue.string)),
            "fuses_blown": .array(fuses.map(JSONValue.string)), "report": report,
        ]
    }

    func cells(at now: Timestamp) -> [String] {
        let listening = report["listening"]?.boolValue
        return [
            "\(id) \(name)", host, "\(pid)", version, isAlive ? "alive for \(startedAt.age(at: now))" : "lease over",
            heartbeatAt.age(at: now), listening == true ? "ok" : "down",
            leads.isEmpty ? "-" : leads.joined(separator: ", "),
            breakers.isEmpty ? "-" : breakers.joined(separator: ", "),
            fuses.isEmpty ? "ok" : "blown: \(fuses.joined(separator: ", "))",
        ]
    }
}

/// The daemons on the list, those that lead first.
struct ListDaemons: PostgresStatement {
    static let name = "list_daemons"
    static let sql = """
        SELECT id, name, host, pid, version, started_at, heartbeat_at, lease_until > clock_timestamp(), leads, report::text
        FROM fanfare.instances
        ORDER BY cardinality(leads) DESC, id
        """

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DaemonRow {
        let report = try row.string(9)
        return DaemonRow(
            id: try row.int32(0),
            name: try row.string(1),
            host: try row.string(2),
            pid: try row.int32(3),
            version: try row.string(4),
            startedAt: try row.timestamp(5),
            heartbeatAt: try row.timestamp(6),
            isAlive: try row.bool(7),
            leads: try row.strings(8),
            report: (try? JSONValue(parsing: report)) ?? .null
        )
    }
}

/// What one lane of one target still has to send.
struct QueueRow: Sendable {
    let app: String
    let platform: String
    let environment: String
    let lane: String
    let ready: Int64
    let inFlight: Int64
    let waiting: Int64
    let oldest: Timestamp?

    func json(at now: Timestamp) -> JSONValue {
        [
            "app": .string(app), "platform": .string(platform), "environment": .string(environment),
            "lane": .string(lane), "ready": JSONValue(ready), "in_flight": JSONValue(inFlight),
            "waiting": JSONValue(waiting), "oldest_seconds": oldest?.secondsAgo(at: now) ?? .null,
        ]
    }

    func cells(at now: Timestamp) -> [String] {
        [
            app, platform, environment, lane, "\(ready)", "\(inFlight)", "\(waiting)", oldest?.age(at: now) ?? "-",
        ]
    }
}

/// The view `queue`.
struct ListQueues: PostgresStatement {
    static let name = "list_queues"
    static let sql = """
        SELECT app, platform, environment, lane, ready::bigint, in_flight::bigint, waiting::bigint, oldest
        FROM fanfare.queue
        ORDER BY app, platform, environment, lane
        """

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> QueueRow {
        QueueRow(
            app: try row.string(0),
            platform: try row.string(1),
            environment: try row.string(2),
            lane: try row.string(3),
            ready: try row.int64(4),
            inFlight: try row.int64(5),
            waiting: try row.int64(6),
            oldest: try row.timestamp(orNil: 7)
        )
    }
}

/// One thing that an operator may have to look at.
struct HealthRow: Sendable {
    let name: String
    let isOK: Bool
    let detail: String
    let since: Timestamp?

    var json: JSONValue {
        [
            "name": .string(name), "ok": .bool(isOK), "detail": .string(detail),
            "since": since.map { JSONValue($0) } ?? .null,
        ]
    }
}

/// The view `health`.
struct ListHealth: PostgresStatement {
    static let name = "list_health"
    static let sql = "SELECT name, ok, detail, since FROM fanfare.health ORDER BY ok, name"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> HealthRow {
        HealthRow(
            name: try row.string(0),
            isOK: try row.bool(1),
            detail: try row.string(orNil: 2) ?? "",
            since: try row.timestamp(orNil: 3)
        )
    }
}

/// The database's time.
struct DatabaseNow: PostgresStatement {
    static let name = "database_now"
    static let sql = "SELECT clock_timestamp()"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Timestamp {
        try row.timestamp(0)
    }
}
