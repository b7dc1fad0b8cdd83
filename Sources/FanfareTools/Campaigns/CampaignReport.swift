public import FanfareCore
package import FanfareRecords
internal import PostgresClient

/// One campaign: its definition, when it is due, and the results of its last runs.
public struct CampaignReport: Sendable {
    package let campaign: CampaignRow
    package let forecast: CampaignForecast
    /// The last ten runs, the newest first.
    package let runs: [RunRow]
    /// The progress of the newest run that fired; nil if none did.
    package let progress: CampaignProgress?

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
