import FanfareRecords
import FanfareTools
import PostgresClient

extension CampaignRow: Tabular {
    /// Formats campaigns as a table.
    ///
    /// - Parameter campaigns: the rows.
    /// - Returns: the table.
    static func table(_ campaigns: [CampaignRow]) -> String {
        var table = TextTable(["app", "name", "state", "schedule", "next", "last", "note"])
        for campaign in campaigns {
            table.append([
                campaign.app, campaign.name, campaign.state, campaign.scheduleText, campaign.nextText ?? "-",
                campaign.lastAt.map { "\($0.minuteText) \(campaign.lastState ?? "")" } ?? "-", campaign.note ?? "-",
            ])
        }
        return table.text
    }

    /// The next due time of the version in force; nil if it has none.
    var nextText: String? {
        guard let nextWall, let nextAt, let inForce else { return nil }
        return CampaignForecast.text(wall: nextWall, Self.timeZone(of: inForce), at: nextAt)
    }
}
