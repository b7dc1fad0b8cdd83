internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareExplain
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of one user: devices, preferences, last pushes, and why a push did not arrive.
    static let person = ConsolePage("/people", "person", parts: ["live-deliveries": "person-deliveries"]) { visit in
        let apps = try await visit.apps()
        let app = visit.filter("app")
        let filter = FilterForm.person(visit, apps: apps)
        guard let user = visit.filter("user"), !filter.isMistaken else {
            return PersonPage(
                frame: visit.frame("People", isLive: false),
                filter: filter,
                person: nil,
                empty: filter.isMistaken ? .noApp : .noPerson
            )
        }
        var overview = PersonOverview(visit, user: user, app: app)
        let list = PageAddress("/people", ["user": user, "app": app ?? ""]).text
        let after = try await visit.place(in: list, count: ToolDatabase.placeOfPush)
        overview.pushes = try await visit.database.pushes(ofUser: user, app: app, after: after, limit: 25)
        overview.next = try await visit.address(of: overview.pushes.next, in: list)
        overview.isFirst = after == nil
        if !visit.isUpdate {
            // Updates by the stream do not contain the details.
            overview.detail = try await visit.database.person(user, apps: apps, app: app)
            overview.upcoming = try await visit.database.scheduled(app: app, user: user, limit: 5).rows
            overview.why = try await WhyPanel.load(visit, user: user, app: app)
            if overview.why.report == nil { overview.last = try await visit.database.why(user: user, app: app) }
        }
        return PersonPage(
            frame: visit.frame(
                user,
                parent: PageLink(name: "People", href: "/people"),
                isLive: after == nil
            ),
            filter: filter,
            person: overview.person,
            empty: nil
        )
    }
}

/// `/people`: one user, or the form that asks for one.
struct PersonPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    /// The user; nil if the address names none.
    let person: Person?
    let empty: Empty?
}

/// A user.
struct Person: ViewContext {
    let user: String
    /// The summary: `Reached 12 min ago on 2 of 3 devices`.
    let verdict: Notice
    let facts: [Fact]
    let actions: [ActionLink]
    let devices: [DeviceLine]
    /// Whether rows name their users: all are of one user.
    let hasUsers = false
    let preferences: [PreferenceLine]
    let topics: [String]
    /// The number of further topics.
    let moreTopics: String?
    /// The next events that are scheduled for the user; nil if there are none.
    let upcoming: PersonUpcoming?
    let pushes: [PushLine]
    let pager: Pager
    let why: WhyPanel
}

/// The next events that are scheduled for a user.
struct PersonUpcoming: ViewContext {
    let rows: [UpcomingLine]
    /// The address of all of them.
    let all: String
}

extension Empty {
    /// The text of the page without a user.
    fileprivate static let noPerson = Empty(
        title: "Find a user",
        words:
            "Enter a user id as your application knows it, to see devices, preferences, latest pushes, and why one wasn't delivered."
    )
    /// The text for an app that does not exist.
    fileprivate static let noApp = Empty(title: "Invalid filter", words: "Choose an existing app.")
}

extension FilterForm {
    /// Returns the form that asks for a user.
    ///
    /// - Parameters:
    ///   - visit: the request's visit.
    ///   - apps: all apps.
    /// - Returns: the form with what is in the address.
    fileprivate static func person(_ visit: Visit, apps: [String]) -> FilterForm {
        FilterForm(
            to: "/people",
            [.typed("user", "User", visit), .chosen("app", "App", apps, visit)],
            keeping: ["event": visit.filter("event")]
        )
    }
}

/// The data of a user's page.
struct PersonOverview {
    let visit: Visit
    let user: String
    /// The app; nil for all.
    let app: String?
    var detail: PersonDetail = ([], [])
    /// The next events that are scheduled for the user.
    var upcoming: [ScheduledEvent] = []
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
            upcoming: upcoming.isEmpty
                ? nil
                : PersonUpcoming(
                    rows: upcoming.map(UpcomingLine.init),
                    all: PageAddress("/upcoming", ["user": user, "app": app ?? ""]).text
                ),
            pushes: pushes.rows.map(PushLine.init),
            pager: Pager(
                shown: FigureText.counted(Int64(pushes.rows.count), "push", "pushes"),
                first: isFirst ? nil : visit.address([:]),
                next: next,
                isStopped: pushes.isStopped,
                searchedTo: pushes.searchedTo
            ),
            why: WhyPanel(why, last: last, visit, user: user, app: app)
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
        let outcome = accepted ? "" : "\(PushText.badge(last.outcome, last.reason).words). "
        let words = "The last push, \(ago) ago: \(outcome)\(last.detail ?? "")"
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
}

/// A preference of a user.
struct PreferenceLine: ViewContext {
    let category: String
    let app: String
    let badge: Badge
    let words: String
    let changed: Moment?
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
