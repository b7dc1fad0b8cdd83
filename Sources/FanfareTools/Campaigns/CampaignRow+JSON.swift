internal import FanfareCampaigns
public import FanfareCore
internal import FanfareProviders
public import FanfareRecords
internal import PostgresClient

extension CampaignRow: StoredDefinition {
    package var isRefused: Bool { reason != nil }

    /// The campaign as JSON.
    public var json: JSONValue {
        [
            "app": .string(app), "name": .string(name), "version": JSONValue(Int64(version)), "state": .string(state),
            "checked": .bool(!isUnchecked), "reason": JSONValue(orNull: reason),
            "next_at": nextAt.map { JSONValue($0) } ?? .null, "last_at": lastAt.map { JSONValue($0) } ?? .null,
            "last_state": JSONValue(orNull: lastState), "from_file": .bool(isFromFile), "definition": newest,
            "definition_in_force": inForce ?? .null,
        ]
    }

    /// The definition in its canonical form for comparison: without defaults.
    package var canonical: JSONValue {
        (try? CampaignDefinition(json: newest).json) ?? newest
    }

    /// The newest schedule, as in `0 9 * * mon Europe/Madrid`.
    package var scheduleText: String {
        guard let schedule = newest["schedule"] else { return "manual" }
        let times = schedule["cron"]?.stringValue ?? schedule["at"]?.stringValue ?? "?"
        return "\(times) \(Self.timeZone(of: newest))"
    }

    /// Why the newest version is not in force; nil if it is.
    package var note: String? {
        if let reason { return "version \(version) is refused: \(reason)" }
        return isUnchecked ? "version \(version) is not checked yet" : nil
    }

    /// The time zone of a definition's schedule.
    package static func timeZone(of definition: JSONValue) -> String {
        definition["schedule"]?["time_zone"]?.stringValue ?? CampaignSchedule.utc
    }
}
