internal import FanfareCampaigns
package import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
package import PostgresClient

/// When a campaign is due next.
package struct CampaignForecast: Sendable {
    /// The number of future times shown for each campaign.
    static let timesShown: Int32 = 3

    /// The time zone of the schedule; nil if it has none.
    let timeZone: String?
    /// The future times: as many as were requested or exist.
    var times: [CampaignTime]
    /// The zones in which the first time has passed; nil if there are none.
    var late: LateStart?

    /// Each time with the local time in the schedule's zone.
    var json: JSONValue {
        .array(
            times.map { time in
                ["at": JSONValue(time.at), "wall": .string(time.wall), "time_zone": JSONValue(orNull: timeZone)]
            }
        )
    }

    /// A line for each time.
    var lines: [String] {
        guard let timeZone else { return ["manual"] }
        guard !times.isEmpty else { return ["no further runs"] }
        let next = times.enumerated().map { index, time in
            "next \(Self.text(wall: time.wall, timeZone, at: time.at, isPast: index == 0 && late != nil))"
        }
        return next.prefix(1) + (late?.lines ?? []) + next.dropFirst()
    }

    /// Formats a due time: `2026-11-30 09:00 Europe/Madrid (2026-11-30 08:00 UTC)`; for a schedule by recipients' time
    /// it is the time of planning.
    ///
    /// - Parameters:
    ///   - wall: the local time in the schedule's zone.
    ///   - timeZone: the schedule's zone.
    ///   - time: the due time.
    ///   - isPast: whether that time has passed, so that the campaign fires at once.
    /// - Returns: the text.
    package static func text(wall: String, _ timeZone: String, at time: Timestamp, isPast: Bool = false) -> String {
        switch timeZone {
        case CampaignSchedule.utc: "\(wall) UTC" + (isPast ? ", at once" : "")
        case CampaignSchedule.recipient:
            "\(wall) recipient's local time (planned \(isPast ? "at once" : time.minuteText))"
        default: "\(wall) \(timeZone) (\(isPast ? "at once" : time.minuteText))"
        }
    }
}

/// The zones in which the local time of recipients has passed before planning.
enum LateStart: Sendable {
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

    var lines: [String] {
        switch self {
        case .counted(let zones): zones.lines
        case .unknown(let reason): ["where it has passed is unknown: \(TextTable.printable(reason))"]
        }
    }
}

extension Timestamp {
    /// The time to the minute, as in `2026-11-30 08:00 UTC`.
    package var minuteText: String { rfc3339.prefix(16).replacing("T", with: " ") + " UTC" }
}
