package import FanfareCore

/// The schedule of a campaign.
///
/// It has no UTC offsets: the database checks the time zone and computes when clocks there show a time.
package struct CampaignSchedule: Equatable, Sendable {
    /// The times at which a campaign is due.
    package enum Times: Equatable, Sendable {
        /// Once, at a local time in the time zone: `2026-12-01T09:00`.
        case once(String)
        /// Repeatedly: the cron expression as text and parsed.
        case cron(String, CronExpression)
    }

    /// The handling of times that passed while no daemon ran.
    package enum CatchUp: String, CaseIterable, Sendable {
        /// Each missed time is fired, the oldest first.
        case all
        /// Only the latest missed time is fired.
        case latest
        /// A missed time is fired only if it is at most one minute late.
        case none
    }

    /// The default time zone.
    package static let utc = "UTC"
    /// The time zone value that means each recipient's own time zone.
    package static let recipient = "recipient"
    static let keys = ["at", "cron", "time_zone", "default_time_zone", "catch_up"]

    /// The times at which the campaign is due.
    package let times: Times
    /// An IANA name, not checked here, or ``recipient``.
    package let timeZone: String
    /// The time zone of devices that have none, if ``timeZone`` is ``recipient``.
    ///
    /// An IANA name, not checked here; nil for the app's default (`fanfare.put_policy`).
    package let defaultTimeZone: String?
    /// The handling of missed times.
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

    /// The cron expression; nil for a single time.
    package var expression: CronExpression? {
        if case .cron(_, let expression) = times { return expression }
        return nil
    }

    /// The schedule as JSON, without defaults.
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

    /// Returns a local time of valid form; the database checks that the date exists.
    private static func wallTime(_ text: String, path: String) throws(RuleProblem) -> String {
        let shape = /[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?/
        guard text.wholeMatch(of: shape) != nil else {
            throw RuleProblem(
                path: path,
                reason: "is not a time of day",
                hint: "write what clocks in time_zone show, as in 2026-12-01T09:00"
            )
        }
        return text
    }
}
