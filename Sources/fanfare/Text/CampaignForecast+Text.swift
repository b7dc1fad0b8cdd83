import FanfareCampaigns
import FanfareRecords
import FanfareTools
import PostgresClient

extension CampaignForecast {
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
    static func text(wall: String, _ timeZone: String, at time: Timestamp, isPast: Bool = false) -> String {
        switch timeZone {
        case CampaignSchedule.utc: "\(wall) UTC" + (isPast ? ", at once" : "")
        case CampaignSchedule.recipient:
            "\(wall) recipient's local time (planned \(isPast ? "at once" : time.minuteText))"
        default: "\(wall) \(timeZone) (\(isPast ? "at once" : time.minuteText))"
        }
    }
}

extension LateStart {
    /// The zones as lines of text for people.
    var lines: [String] {
        switch self {
        case .counted(let zones): zones.lines
        case .unknown(let reason): ["where it has passed is unknown: \(reason.printable)"]
        }
    }
}

extension Timestamp {
    /// The time to the minute, as in `2026-11-30 08:00 UTC`.
    var minuteText: String { rfc3339.prefix(16).replacing("T", with: " ") + " UTC" }
}
