internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareExplain
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension WhyPanel {
    /// Explains why an event did not reach a user, if the address names an event.
    ///
    /// - Parameters:
    ///   - visit: the request's visit; `event` in its address is an id or an idempotency key.
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    /// - Returns: the report, or the error in the request.
    /// - Throws: ``ToolError``.
    static func load(_ visit: Visit, user: String, app: String?) async throws -> (report: WhyReport?, problem: String?)
    {
        guard let text = visit.filter("event")?.trimmed else { return (nil, nil) }
        var event = Int64(text).flatMap { $0 > 0 ? $0 : nil }
        // An idempotency key may look like an id.
        let head = try await visit.database.rows(of: SQL.eventHead(event ?? 0)).first
        if head == nil {
            var filter = EventFilter()
            filter.key = text
            event = try await visit.database.events(filter, before: nil, limit: 1).rows.first?.id ?? event
        }
        guard let event else {
            return (
                nil, "No recent event has this key. Find it on the Events page and enter its id."
            )
        }
        return (try await visit.database.why(eventID: event, user: user, app: app), nil)
    }
}

extension WhyStep {
    /// Shows a step.
    ///
    /// - Parameter row: a row of `fanfare.why`.
    init(_ row: WhyRow) {
        let device = row.deviceID.map { $0 == 0 ? row.provider ?? "" : "\(row.provider ?? "") device \($0)" }
        let parts = [row.rule, device, row.attempt.map { "attempt \($0)" }].compactMap(\.self)
        let until = row.until.map { "Until \(Moment($0.microseconds, .short).words)." }
        self.init(
            at: Moment(row.at.microseconds, .second),
            subject: parts.isEmpty ? "event" : parts.joined(separator: ", "),
            badge: PushText.badge(row.outcome, row.reason),
            words: [row.detail.map { $0.hasSuffix(".") ? $0 : "\($0)." }, until].compactMap(\.self).joined(
                separator: " "
            )
        )
    }
}

extension Notice {
    /// Shows the verdict on an event for a user.
    ///
    /// - Parameter report: the report of `fanfare.why`.
    init(_ report: WhyReport) {
        let verdict = report.verdict
        let badge = PushText.badge(verdict.outcome, verdict.reason)
        let id = verdict.eventID ?? 0
        let event = "Event \(id)\(verdict.eventType.map { ", \($0)" } ?? "")"
        let rule = verdict.rule.map { " by \($0)" } ?? ""
        let until = verdict.until.map { " until \(Moment($0.microseconds, .short).words)" } ?? ""
        let isKnown = verdict.eventType != nil
        self.init(
            Tone(rawValue: badge.tone).map { $0 == .quiet ? .warn : $0 } ?? .warn,
            "\(event): \(badge.words)\(until)\(rule). \(verdict.detail ?? "")",
            link: isKnown ? PageLink(name: "The event", href: "/events/\(id)") : nil
        )
    }
}
