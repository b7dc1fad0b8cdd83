internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareExplain
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// The data of a user's page.
struct PersonOverview {
    let visit: Visit
    let user: String
    /// The app; nil for all.
    let app: String?
    var detail: PersonDetail = ([], [])
    var pushes = FoundPushes(rows: [], next: nil)
    /// The address of the next part of the pushes.
    var next: String?
    var isFirst = true
    var why: (report: WhyReport?, problem: String?) = (nil, nil)
    /// The verdicts on the last events; only if no event is asked for.
    var last: [WhyVerdict] = []

    init(_ visit: Visit, user: String, app: String?) {
        (self.visit, self.user, self.app) = (visit, user, app)
    }

    /// The context of the page.
    var person: Person {
        let topics = Set(detail.devices.flatMap { $0.topics ?? [] }).sorted()
        let shown = 20
        return Person(
            user: user,
            verdict: verdict,
            facts: facts,
            actions: actions,
            devices: detail.devices.map { device in
                // A pending push has no time yet, and a suppressed one was not sent.
                let last = pushes.rows.first {
                    $0.place.device == device.id && $0.at != nil && !PushText.isKept($0.outcome)
                }?.at
                return DeviceLine(device, lastPush: last.map { Moment($0.microseconds, .short) })
            },
            preferences: detail.preferences.map { PreferenceLine($0.preference, app: $0.app) },
            topics: Array(topics.prefix(shown)),
            moreTopics: topics.count > shown ? "and \(topics.count - shown) more" : nil,
            pushes: pushes.rows.map(PushLine.init),
            pager: Pager(
                shown: FigureText.counted(Int64(pushes.rows.count), "push", "pushes"),
                first: isFirst ? nil : visit.address([:]),
                next: next,
                isStopped: pushes.isStopped,
                searchedTo: pushes.searchedTo
            ),
            why: whyPanel
        )
    }

    private var actions: [ActionLink] {
        guard let verdict = why.report?.verdict, verdict.eventType != nil, let event = verdict.eventID else {
            return []
        }
        var query = ["user": user]
        query["app"] = app
        let href = PageAddress("/events/\(event)/replay", query).text
        return [ActionLink("Replay the event to this user", href, .quiet, refused: visit.refusal(.replay))]
    }

    private var facts: [Fact] {
        let enabled = detail.devices.filter { $0.disabledReason == nil }
        let zones = Set(detail.devices.compactMap(\.timeZone)).sorted()
        var facts = [Fact(name: "Devices", words: "\(enabled.count) of \(detail.devices.count) enabled")]
        if let last = detail.devices.map(\.registeredAt.microseconds).max() {
            facts.append(Fact(name: "Last registered", time: Moment(last, .full)))
        }
        if !zones.isEmpty { facts.append(Fact(name: "Time zone", words: zones.joined(separator: ", "))) }
        return facts
    }

    /// The summary at the top of the page.
    private var verdict: Notice {
        let place = app.map { " in app \($0)" } ?? ""
        guard !detail.devices.isEmpty else {
            return Notice(
                .warn,
                "No device\(place) is registered with this user id, so nothing can be pushed. The app must call fanfare.register_device with it at each start; or the id is spelled differently."
            )
        }
        let devices = FigureText.counted(Int64(detail.devices.count), "device")
        guard detail.devices.contains(where: { $0.disabledReason == nil }) else {
            let reasons = Set(detail.devices.compactMap(\.disabledReason)).sorted().joined(separator: ", ")
            return Notice(
                .warn,
                "Nothing is sent: \(devices) of this user, all disabled (\(reasons)). The app must register its token again, at its next start."
            )
        }
        let waits = pushes.rows.count { $0.at == nil }
        let waiting = FigureText.counted(Int64(waits), "push waits", "pushes wait")
        guard let last = pushes.rows.first(where: { $0.at != nil }), let at = last.at else {
            return Notice(.quiet, "\(devices), and no push yet\(waits == 0 ? "" : "; \(waiting)").")
        }
        let ago = FigureText.duration(Double(visit.now - at.microseconds) / 1e6)
        let accepted = last.outcome == "accepted"
        let words =
            accepted
            ? "The last push was accepted by \(last.provider) \(ago) ago; only the device knows whether it was shown."
            : "The last push, \(ago) ago: \(PushText.badge(last.outcome, last.reason).words). \(last.detail ?? "")"
        let unwanted = unwanted
        let isWell = accepted && unwanted.isEmpty
        // Earlier pushes say nothing about a push that is pending.
        guard waits == 0 else { return Notice(isWell ? .quiet : .warn, "\(unwanted)\(waiting). \(words)") }
        return Notice(isWell ? .good : .warn, unwanted + words)
    }

    /// The user's preferences that suppress pushes now, as a sentence.
    private var unwanted: String {
        let words = detail.preferences.map { PreferenceLine($0.preference, app: $0.app) }
            .filter { $0.badge.words != "on" }
            .map { "\($0.category) (\($0.words))" }
        return words.isEmpty ? "" : "Opted out: \(words.joined(separator: ", ")). "
    }

    private var whyPanel: WhyPanel {
        let event = FilterField.typed(
            "event",
            "Event id, or its key",
            visit,
            hint: "Find older events on the Events page.",
            problem: why.problem
        )
        let form = FilterForm(to: "/people", [event], keeping: ["user": user, "app": app])
        guard let report = why.report else {
            return WhyPanel(form: form, verdict: nil, steps: [], recent: recent)
        }
        return WhyPanel(form: form, verdict: Notice(report), steps: report.rows.map(WhyStep.init), recent: [])
    }

    /// The last events, as `fanfare why` lists them.
    private var recent: [WhyRecent] {
        last.compactMap { verdict in
            guard let event = verdict.eventID else { return nil }
            let until = verdict.until.map { "Until \(Moment($0.microseconds, .short).words)." }
            let words = [verdict.detail.map { $0.hasSuffix(".") ? $0 : "\($0)." }, until].compactMap(\.self)
            return WhyRecent(
                event: PageLink(name: "\(event)", href: "/events/\(event)"),
                type: verdict.eventType ?? "",
                at: Moment(verdict.at.microseconds, .short),
                badge: PushText.badge(verdict.outcome, verdict.reason),
                words: verdict.outcome == "accepted" ? nil : words.joined(separator: " "),
                href: PageAddress.person(user, app: app, event: event) + "#why"
            )
        }
    }
}

extension PreferenceLine {
    /// Shows a user's preferences.
    fileprivate init(_ said: UserPreference, app: String) {
        let snooze = said.snoozedUntil.map { "snoozed until \(Moment($0.microseconds, .full).words)" }
        self.init(
            category: said.category == "*" ? "all categories" : said.category,
            app: app,
            badge: said.isOptedOut
                ? Badge(.warn, "off") : snooze == nil ? Badge(.good, "on") : Badge(.busy, "snoozed"),
            words: said.isOptedOut ? "opted out" : snooze ?? "",
            changed: nil
        )
    }
}
