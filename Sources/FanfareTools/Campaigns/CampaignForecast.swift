internal import FanfareCore
package import FanfareRecords
internal import PostgresClient

/// When a campaign is due next.
package struct CampaignForecast: Sendable {
    /// The number of future times shown for each campaign.
    package static let timesShown: Int32 = 3

    /// The time zone of the schedule; nil if it has none.
    package let timeZone: String?
    /// The future times: as many as were requested or exist.
    package var times: [CampaignTime]
    /// The zones in which the first time has passed; nil if there are none.
    package var late: LateStart?

    /// Each time with the local time in the schedule's zone.
    var json: JSONValue {
        .array(
            times.map { time in
                ["at": JSONValue(time.at), "wall": .string(time.wall), "time_zone": JSONValue(orNull: timeZone)]
            }
        )
    }
}

/// The zones in which the local time of recipients has passed before planning.
package enum LateStart: Sendable {
    /// The zones, with their devices counted.
    case counted(PassedZones)
    /// The count failed; the reason.
    case unknown(String)

    var json: JSONValue {
        switch self {
        case .counted(let zones): zones.json
        case .unknown(let reason): ["problem": .string(reason)]
        }
    }
}
