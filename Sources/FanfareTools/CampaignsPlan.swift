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

    /// The plan as JSON: each campaign of the files has its times to come as `next`, and as `passed` where the first of them has.
    public var json: JSONValue {
        changes.json { item in
            var object = JSONObject()
            object["next"] = forecasts[item.id]?.json
            object["passed"] = forecasts[item.id]?.late?.json
            return object
        }
    }

    /// The plan for people: a line per campaign, its differences and times below it, and a sum.
    public var text: String { changes.text { forecasts[$0.id]?.lines ?? [] } }
}

/// When a campaign is due next.
struct CampaignForecast: Sendable {
    /// The time zone of its schedule; nil where it has none.
    let timeZone: String?
    /// The times to come, as many as were asked for or there are.
    var times: [CampaignTime]
    /// Where the first of the times has passed; nil where it has nowhere.
    var late: LateStart?

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
        guard let timeZone else { return ["manual"] }
        guard !times.isEmpty else { return ["no further runs"] }
        let next = times.enumerated().map { index, time in
            "next \(Self.text(wall: time.wall, timeZone, at: time.at, isPast: index == 0 && late != nil))"
        }
        return next.prefix(1) + (late?.lines ?? []) + next.dropFirst()
    }

    /// `2026-11-30 09:00 Europe/Madrid (2026-11-30 08:00 UTC)`; by recipients' time when it is planned.
    ///
    /// - Parameters:
    ///   - wall: what clocks show that the schedule goes by.
    ///   - timeZone: the schedule's.
    ///   - time: when it is due.
    ///   - isPast: whether that has passed, so that it fires at once.
    /// - Returns: the text.
    static func text(wall: String, _ timeZone: String, at time: Timestamp, isPast: Bool = false) -> String {
        switch timeZone {
        case CampaignSchedule.utc: "\(wall) UTC" + (isPast ? ", at once" : "")
        case CampaignSchedule.recipient:
            "\(wall) recipient's local time (planned \(isPast ? "at once" : time.minuteText))"
        default: "\(wall) \(timeZone) (\(isPast ? "at once" : time.minuteText))"
        }
    }
}

/// What becomes of a recipient's local time that would have been planned already.
enum LateStart: Sendable {
    /// Where it has passed, counted.
    case counted(PassedZones)
    /// Why it is not known.
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
    /// `2026-11-30 08:00 UTC`: the minute that it is in.
    var minuteText: String { rfc3339.prefix(16).replacing("T", with: " ") + " UTC" }
}
