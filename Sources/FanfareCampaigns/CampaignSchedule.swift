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

    /// Reads an object that ``DefinitionObject/schedule`` allows.
    init(_ object: JSONObject) throws(RuleProblem) {
        switch (object.text("at"), object.text("cron")) {
        case (let at?, nil): times = .once(at)
        case (nil, let cron?): times = .cron(cron, try Self.expression(cron))
        case (let at, _):
            throw RuleProblem(
                path: "schedule",
                reason: at == nil ? "has neither at nor cron" : "has at and cron",
                hint: "give one of at and cron, or leave the schedule out to start it manually"
            )
        }
        timeZone = object.text("time_zone") ?? Self.utc
        defaultTimeZone = object.text("default_time_zone")
        catchUp = object.text("catch_up").flatMap(CatchUp.init) ?? .latest
        guard defaultTimeZone == nil || timeZone == Self.recipient else {
            throw RuleProblem(
                path: "schedule.default_time_zone",
                reason: "needs time_zone: recipient",
                hint: "it is the zone of devices that have none"
            )
        }
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

    private static func expression(_ text: String) throws(RuleProblem) -> CronExpression {
        do throws(CronProblem) {
            return try CronExpression(text)
        } catch {
            let field = error.field.map { "\($0.rawValue): " } ?? ""
            throw RuleProblem(path: "schedule.cron", reason: field + error.reason, hint: error.hint)
        }
    }
}
