internal import FanfareCore
package import FanfareRecords
internal import PostgresClient

extension DaemonRow {
    /// The fuses that blew.
    package var fuses: [String] {
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
}

extension QueueRow {
    func json(at now: Timestamp) -> JSONValue {
        [
            "app": .string(app), "provider": .string(provider), "environment": .string(environment),
            "lane": .string(lane), "ready": JSONValue(ready), "in_flight": JSONValue(inFlight),
            "waiting": JSONValue(waiting), "oldest_seconds": oldest?.secondsAgo(at: now) ?? .null,
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
