package import FanfareCore

/// When a campaign is due by itself.
///
/// Knows no offsets: that a time zone is one, and when clocks there show a time, only the database says.
package struct CampaignSchedule: Equatable, Sendable {
    /// What makes it due.
    package enum Times: Equatable, Sendable {
        /// Once, when clocks in the time zone show this: `2026-12-01T09:00`.
        case once(String)
        /// Again and again; as it was written, and read.
        case cron(String, CronExpression)
    }

    /// What becomes of times that were missed while no daemon ran.
    package enum CatchUp: String, CaseIterable, Sendable {
        /// Each is fired, the oldest first.
        case all
        /// The last of them is.
        case latest
        /// Only what is at most a minute late is.
        case none
    }

    /// The time zone where none is given.
    package static let utc = "UTC"
    /// The time zone that stands for each recipient's own.
    package static let recipient = "recipient"
    static let keys = ["at", "cron", "time_zone", "default_time_zone", "catch_up"]

    /// What makes it due.
    package let times: Times
    /// An IANA name, unchecked, or ``recipient``.
    package let timeZone: String
    /// An IANA name, unchecked: the zone of devices that have none, where each has its own time; nil for the
    /// app's (`fanfare.put_policy`).
    package let defaultTimeZone: String?
    /// What becomes of what was missed.
    package let catchUp: CatchUp

    init(_ reader: RuleObject) throws(RuleProblem) {
        try reader.checkKeys(Self.keys)
        let at = try reader.string("at")
        let cron = try reader.string("cron")
        switch (at, cron) {
        case (let at?, nil): times = .once(try Self.wallTime(at, path: reader.path("at")))
        case (nil, let cron?): times = .cron(cron, try Self.expression(cron, path: reader.path("cron")))
        default:
            throw RuleProblem(
                path: reader.path,
                reason: at == nil ? "has neither at nor cron" : "has at and cron",
                hint: "give one of at and cron, or leave the schedule out to start it manually"
            )
        }
        timeZone = try reader.string("time_zone") ?? Self.utc
        let zoneOfOthers = try reader.string("default_time_zone")
        guard zoneOfOthers == nil || timeZone == Self.recipient else {
            throw RuleProblem(
                path: reader.path("default_time_zone"),
                reason: "needs time_zone: recipient",
                hint: "it is the zone of devices that have none"
            )
        }
        defaultTimeZone = zoneOfOthers
        catchUp = try reader.word("catch_up", CatchUp.self) ?? .latest
    }

    /// The cron expression, if it is one.
    package var expression: CronExpression? {
        if case .cron(_, let expression) = times { return expression }
        return nil
    }

    /// The schedule as it would be written, without defaults.
    var json: JSONValue {
        var object = JSONObject()
        switch times {
        case .once(let wall): object["at"] = .string(wall)
        case .cron(let text, _): object["cron"] = .string(text)
        }
        if timeZone != Self.utc { object["time_zone"] = .string(timeZone) }
        object["default_time_zone"] = defaultTimeZone.map { .string($0) }
        if catchUp != .latest { object["catch_up"] = .string(catchUp.rawValue) }
        return .object(object)
    }

    private static func expression(_ text: String, path: String) throws(RuleProblem) -> CronExpression {
        do throws(CronProblem) {
            return try CronExpression(text)
        } catch {
            let field = error.field.map { "\($0.rawValue): " } ?? ""
            throw RuleProblem(path: path, reason: field + error.reason, hint: error.hint)
        }
    }

    /// That it is a day of the calendar, the database says.
    private static func wallTime(_ text: String, path: String) throws(RuleProblem) -> String {
        let shape = /[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?/
        guard text.wholeMatch(of: shape) != nil else {
            throw RuleProblem(
                path: path,
                reason: "is no time of day",
                hint: "write what clocks in time_zone show, as in 2026-12-01T09:00"
            )
        }
        return text
    }
}
