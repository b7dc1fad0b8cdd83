internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareExplain
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// The explanation why a push did not arrive, or that it did.
struct WhyPanel: ViewContext {
    let form: FilterForm
    /// What it came to.
    let verdict: Notice?
    let steps: [WhyStep]
    /// The last events for this user, each with its verdict; only if no event is asked for.
    let recent: [WhyRecent]
}

extension WhyPanel {
    /// Shows a report, or the verdicts on the last events, and the form that asks for an event.
    ///
    /// - Parameters:
    ///   - found: what ``load(_:user:app:)`` returned.
    ///   - last: the verdicts on the last events; only if no event is asked for.
    ///   - visit: the request's visit.
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    init(
        _ found: (report: WhyReport?, problem: String?),
        last: [WhyVerdict],
        _ visit: Visit,
        user: String,
        app: String?
    ) {
        let hint = "Find older events on the Events page."
        let event = FilterField.typed("event", "Event id, or its key", visit, hint: hint, problem: found.problem)
        self.init(
            form: FilterForm(to: "/people", [event], keeping: ["user": user, "app": app]),
            verdict: found.report.map { Notice($0) },
            steps: found.report?.rows.map(WhyStep.init) ?? [],
            recent: found.report == nil ? last.compactMap { WhyRecent($0, user: user, app: app) } : []
        )
    }

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

/// One step of the explanation.
struct WhyStep: ViewContext {
    let at: Moment
    let subject: String
    let badge: Badge
    let words: String?
}

extension WhyStep {
    /// Shows a step.
    ///
    /// - Parameter row: a row of `fanfare.why`.
    fileprivate init(_ row: WhyRow) {
        let device = row.deviceID.map { $0 == 0 ? row.provider ?? "" : "\(row.provider ?? "") device \($0)" }
        let parts = [row.rule, device, row.attempt.map { "attempt \($0)" }].compactMap(\.self)
        let until = row.until.map { "Until \(Moment($0.microseconds, .short).words)." }
        let words = [row.detail.map { $0.hasSuffix(".") ? $0 : "\($0)." }, until].compactMap(\.self)
        self.init(
            at: Moment(row.at.microseconds, .second),
            subject: parts.isEmpty ? "event" : parts.joined(separator: ", "),
            badge: PushText.badge(row.outcome, row.reason),
            words: words.joined(separator: " ")
        )
    }
}

/// One of the last events for a user.
struct WhyRecent: ViewContext {
    let event: PageLink
    let type: String
    let at: Moment
    let badge: Badge
    let words: String?
    /// The link to its steps.
    let href: String
}

extension WhyRecent {
    /// Shows a verdict; nil for one that is about the user and no event.
    fileprivate init?(_ verdict: WhyVerdict, user: String, app: String?) {
        guard let event = verdict.eventID else { return nil }
        let until = verdict.until.map { "Until \(Moment($0.microseconds, .short).words)." }
        let words = [verdict.detail.map { $0.hasSuffix(".") ? $0 : "\($0)." }, until].compactMap(\.self)
        self.init(
            event: PageLink(name: "\(event)", href: "/events/\(event)"),
            type: verdict.eventType ?? "",
            at: Moment(verdict.at.microseconds, .short),
            badge: PushText.badge(verdict.outcome, verdict.reason),
            words: verdict.outcome == "accepted" ? nil : words.joined(separator: " "),
            href: PageAddress.person(user, app: app, event: event) + "#why"
        )
    }
}

extension Notice {
    /// Shows the verdict on an event for a user.
    ///
    /// - Parameter report: the report of `fanfare.why`.
    fileprivate init(_ report: WhyReport) {
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
