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

    /// Formats campaigns as a table.
    ///
    /// - Parameter campaigns: the rows.
    /// - Returns: the table.
    public static func table(_ campaigns: [CampaignRow]) -> String {
        var table = TextTable(["app", "name", "state", "schedule", "next", "last", "note"])
        for campaign in campaigns {
            table.append([
                campaign.app, campaign.name, campaign.state, campaign.scheduleText, campaign.nextText ?? "-",
                campaign.lastAt.map { "\($0.minuteText) \(campaign.lastState ?? "")" } ?? "-", campaign.note ?? "-",
            ])
        }
        return table.text
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

    /// The next due time of the version in force; nil if it has none.
    var nextText: String? {
        guard let nextWall, let nextAt, let inForce else { return nil }
        return CampaignForecast.text(wall: nextWall, Self.timeZone(of: inForce), at: nextAt)
    }

    /// Why the newest version is not in force; nil if it is.
    package var note: String? {
        if let reason { return "version \(version) is refused: \(reason)" }
        return isUnchecked ? "version \(version) is not checked yet" : nil
    }

    private static func timeZone(of definition: JSONValue) -> String {
        definition["schedule"]?["time_zone"]?.stringValue ?? CampaignSchedule.utc
    }
}
