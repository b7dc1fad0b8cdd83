import FanfareCampaigns
import FanfareCore
import FanfareRecords
import FanfareTools
import PostgresClient

extension CampaignReport {
    /// The report as text for people.
    var text: String {
        ([summary, history, progress?.text].compactMap(\.self)).joined(separator: "\n\n")
    }

    private var summary: String {
        var lines = ["\(campaign.app)/\(campaign.name)  \(campaign.state), version \(campaign.version)"]
        lines += [campaign.note].compactMap(\.self)
        lines.append("schedule: \(campaign.scheduleText)")
        if campaign.newest["schedule"] != nil { lines += forecast.lines }
        for member in campaign.newest.objectValue?.members ?? [] where !Self.told.contains(member.key) {
            let rate = member.key == "rate" ? (try? CampaignRate(member.value))?.text : nil
            let text = rate ?? (member.value.stringValue ?? member.value.text).printable
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
