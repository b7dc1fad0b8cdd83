internal import FanfareCore
internal import FanfareRecords
internal import PostgresClient

extension DaemonRow {
    private var breakers: [String] {
        report["breakers"]?.objectValue?.members.map { "\($0.key) \($0.value.stringValue ?? $0.value.text)" } ?? []
    }

    private var fuses: [String] {
        (report["fuses_blown"]?.arrayValue ?? []).compactMap(\.stringValue)
    }

    func json(at now: Timestamp) -> JSONValue {
        [
            "id": JSONValue(id: Int64(id)), "name": .string(name), "host": .string(host), "pid": JSONValue(Int64(pid)),
            "version": .string(version), "alive": .bool(isAlive), "started_at": JSONValue(startedAt),
            "heartbeat_seconds": heartbeatAt.secondsAgo(at: now), "leads": .array(leads.map(JSONValue.string)),
            "fuses_blown": .array(fuses.map(JSONValue.string)), "report": report,
        ]
    }

    func cells(at now: Timestamp) -> [String] {
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
    func json(at now: Timestamp) -> JSONValue {
        [
            "app": .string(app), "provider": .string(provider), "environment": .string(environment),
            "lane": .string(lane), "ready": JSONValue(ready), "in_flight": JSONValue(inFlight),
            "waiting": JSONValue(waiting), "oldest_seconds": oldest?.secondsAgo(at: now) ?? .null,
        ]
    }

    func cells(at now: Timestamp) -> [String] {
        [
            app, provider, environment, lane, "\(ready)", "\(inFlight)", "\(waiting)", oldest?.age(at: now) ?? "-",
        ]
    }
}

extension HealthRow {
    var json: JSONValue {
        [
            "name": .string(name), "ok": .bool(isOK), "detail": .string(detail),
            "since": since.map { JSONValue($0) } ?? .null,
        ]
    }
}
