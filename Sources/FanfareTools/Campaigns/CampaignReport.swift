internal import FanfareCampaigns
public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import PostgresClient

/// One campaign: its definition, when it is due, and the results of its last runs.
public struct CampaignReport: Sendable {
    let campaign: CampaignRow
    let forecast: CampaignForecast
    /// The last ten runs, the newest first.
    let runs: [RunRow]
    /// The progress of the newest run that fired; nil if none did.
    let progress: CampaignProgress?

    /// Whether the newest run has not ended, so that more may be sent.
    public var isRunning: Bool { progress?.run.isRunning ?? false }

    /// The report as JSON.
    public var json: JSONValue {
        var object = campaign.json.objectValue ?? JSONObject()
        object["next"] = forecast.json
        object["runs"] = .array(runs.map(\.json))
        object["newest"] = progress?.json ?? .null
        return .object(object)
    }

    /// The report as text for people.
    public var text: String {
        ([summary, history, progress?.text].compactMap(\.self)).joined(separator: "\n\n")
    }

    private var summary: String {
        var lines = ["\(campaign.app)/\(campaign.name)  \(campaign.state), version \(campaign.version)"]
        lines += [campaign.note].compactMap(\.self)
        lines.append("schedule: \(campaign.scheduleText)")
        if campaign.newest["schedule"] != nil { lines += forecast.lines }
        for member in campaign.newest.objectValue?.members ?? [] where !Self.told.contains(member.key) {
            let rate = member.key == "rate" ? (try? CampaignRate(member.value, path: member.key))?.text : nil
            let text = rate ?? TextTable.printable(member.value.stringValue ?? member.value.text)
            lines.append("\(member.key): " + (text.count > 200 ? text.prefix(199) + "…" : text))
        }
        return lines.enumerated().map { $0.offset == 0 ? $0.element : "  " + $0.element }.joined(separator: "\n")
    }

    private static let told: Set<String> = ["app", "name", "schedule", "locales"]

    private var history: String? {
        guard !runs.isEmpty else { return nil }
        var table = TextTable(["scheduled", "state", "event", "detail"])
        for run in runs {
            table.append([
                run.scheduledAt.minuteText, run.state, run.eventID.map { "\($0)" } ?? "-",
                run.detail ?? "-",
            ])
        }
        return table.text
    }
}

extension RunRow {
    /// The run as JSON.
    var json: JSONValue {
        [
            "id": JSONValue(id: id), "scheduled_at": JSONValue(scheduledAt), "event_id": JSONValue(id: eventID),
            "state": .string(state), "detail": JSONValue(orNull: detail),
        ]
    }
}
