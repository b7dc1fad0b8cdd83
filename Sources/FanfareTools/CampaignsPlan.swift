internal import FanfareCampaigns
public import FanfareCore
internal import FanfareProviders
internal import FanfareStore
internal import PostgresClient

/// What applying campaign files changes, and when each campaign would be due.
public struct CampaignsPlan: Sendable {
    /// How many times to come are shown of each.
    static let timesShown: Int32 = 3

    /// What becomes of each.
    public let changes: FilesPlan
    /// When those of the files would be due, by what the files say.
    let forecasts: [RuleID: CampaignForecast]

    /// Whether applying would change nothing.
    public var isEmpty: Bool { changes.isEmpty }

    /// The plan as JSON: each campaign of the files has its times to come as `next`.
    public var json: JSONValue { changes.json { forecasts[$0.id]?.json } }

    /// The plan for people: a line per campaign, its differences and times below it, and a sum.
    public var text: String { changes.text { forecasts[$0.id]?.lines ?? [] } }
}

/// When a campaign is due next.
struct CampaignForecast: Sendable {
    /// The time zone of its schedule; nil where it has none.
    let timeZone: String?
    /// The times to come, as many as were asked for or there are.
    let times: [CampaignTime]

    /// Each with the time and what clocks in its time zone show then.
    var json: JSONValue {
        .array(
            times.map { time in
                ["at": JSONValue(time.at), "wall": .string(time.wall), "time_zone": JSONValue(orNull: timeZone)]
            }
        )
    }

    /// A line for each time.
    var lines: [String] {
        guard let timeZone else { return ["started by hand"] }
        guard !times.isEmpty else { return ["due no more"] }
        return times.map { "next \(Self.text(wall: $0.wall, timeZone, at: $0.at))" }
    }

    /// `2026-11-30 09:00 Europe/Madrid (2026-11-30 08:00 UTC)`; by recipients' time when it is planned.
    static func text(wall: String, _ timeZone: String, at time: Timestamp) -> String {
        switch timeZone {
        case CampaignSchedule.utc: "\(wall) UTC"
        case CampaignSchedule.recipient: "\(wall) where each device is (planned \(time.minuteText))"
        default: "\(wall) \(timeZone) (\(time.minuteText))"
        }
    }
}

extension Timestamp {
    /// `2026-11-30 08:00 UTC`: the minute that it is in.
    var minuteText: String { rfc3339.prefix(16).replacing("T", with: " ") + " UTC" }
}
