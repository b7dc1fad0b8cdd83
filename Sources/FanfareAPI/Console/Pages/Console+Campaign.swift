internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// One campaign: how far it is, what came of it before, what it sends, and what may be done.
    static let campaign = ConsolePage("/campaigns/{app}/{name}", .campaign) { visit in
        try await CampaignPage.load(visit)
    }
}

extension Visit {
    /// The campaign that the path names.
    var campaign: RuleID { RuleID(app: call.name("app"), name: call.name("name")) }

    /// Looks at the campaign that the path names.
    ///
    /// - Parameters:
    ///   - before: occurrences before this one only; nil for the newest.
    ///   - limit: how many occurrences.
    /// - Returns: the campaign.
    /// - Throws: a ``Problem`` if there is none, and what the database says.
    func campaignLook(before: Timestamp? = nil, limit: Int64 = 1) async throws -> CampaignLook {
        let configuration = isUpdate ? nil : call.desk.daemon.configuration()
        guard let look = try await database.campaignLook(campaign, before: before, limit: limit, configuration) else {
            throw Problem(.absent, "there is no such campaign", hint: "The page Campaigns has those that there are.")
        }
        return look
    }
}

extension CampaignPage {
    private static let limit: Int64 = 20

    /// Gathers it.
    ///
    /// - Parameter visit: whose.
    /// - Returns: the page.
    /// - Throws: a ``Problem`` where there is no such campaign, and what the database says.
    fileprivate static func load(_ visit: Visit) async throws -> CampaignPage {
        let list = "console campaign\n\(visit.campaign.app)\n\(visit.campaign.name)"
        var before: Timestamp?
        if let text = visit.filter("after") {
            before = Timestamp(microseconds: try await visit.call.desk.cursors.open(text, count: 1, of: list)[0])
        }
        let look = try await visit.campaignLook(before: before, limit: limit + 1)
        let shown = look.history.prefix(Int(limit))
        var next: String?
        if look.history.count > shown.count, let last = shown.last {
            let place = try await visit.call.desk.cursors.seal([last.scheduledAt.microseconds], of: list)
            next = visit.address(["after": place, "did": nil])
        }
        let progress = look.progress.flatMap { $0.run.isRunning ? $0 : nil }
        return CampaignPage(
            frame: visit.frame(look.campaign.name, parent: PageLink(name: "Campaigns", href: "/campaigns")),
            badge: progress.map { CampaignProgressCard.badge($0.run) } ?? Badge(campaign: look.campaign),
            words: words(look),
            progress: progress.map { CampaignProgressCard($0, actions: []) },
            canary: look.canary.map { CanaryGate($0, look, visit) },
            actions: actions(look, visit),
            facts: facts(look),
            outcomes: OutcomeLine.list(
                look.progress?.attempts.map { (outcome: $0.outcome, reason: $0.reason, count: $0.count) } ?? []
            ),
            waves: look.waves.map { WaveLine($0, look, now: visit.now) },
            next: look.due.map { due in
                due.isByRecipient
                    ? Moment(due.at.microseconds, as: "\(due.wall), where each device is")
                    : Moment(due.at.microseconds, .full)
            },
            occurrences: shown.map { OccurrenceLine($0, newest: look.progress?.run) },
            pager: Pager(
                shown: FigureText.counted(Int64(shown.count), "occurrence"),
                first: before == nil ? nil : visit.address(["did": nil]),
                next: next,
                searchedTo: nil,
                further: nil
            ),
            definition: look.campaign.newest.indented(),
            test: try await visit.refusal(.test) == nil && look.campaign.inForce != nil ? TestForm(visit) : nil,
            previews: NotificationPreviews(look.messages),
            deeds: look.deeds.map {
                DeedLine(
                    at: Moment($0.at.microseconds, .short),
                    word: String($0.action.dropFirst("campaign.".count)),
                    actor: $0.actor,
                    reason: $0.reason
                )
            }
        )
    }

    /// What there is to know at once.
    private static func words(_ look: CampaignLook) -> String {
        let run = look.progress?.run
        let state =
            switch run {
            case let run? where run.state == "aborting":
                "It is being aborted: what is not sent is recorded as cancelled."
            case let run? where run.isRunning && look.campaign.state == "paused":
                "It is paused: what is not sent waits until it is resumed."
            case let run? where run.isRunning: run.hold.map { "It is held: \($0)." } ?? "It is under way."
            case _ where look.campaign.state == "paused": "It is paused: nothing of it is fired before it is resumed."
            default: "Nothing of it is under way."
            }
        return ([state] + [look.campaign.note.map { "\($0)." }].compactMap(\.self)).joined(separator: " ")
    }

    /// What may be done, and why the rest may not.
    private static func actions(_ look: CampaignLook, _ visit: Visit) -> [ActionLink] {
        guard visit.session.may(.operator) else { return [] }
        let href = CampaignProgressCard.href(look.campaign.app, look.campaign.name)
        let standing = CampaignStanding(look)
        return [
            ActionLink("Start now", "\(href)/start", refused: visit.refusal(.start) ?? standing.whyNotStart),
            standing.isPaused
                ? ActionLink("Resume", "\(href)/resume", .warn, refused: visit.refusal(.resume))
                : ActionLink("Pause", "\(href)/pause", .warn, refused: visit.refusal(.pause) ?? standing.whyNotPause),
            ActionLink("Abort", "\(href)/abort", .bad, refused: visit.refusal(.abort) ?? standing.whyNotAbort),
        ]
    }

    private static func facts(_ look: CampaignLook) -> [Fact] {
        let (row, definition) = (look.campaign, look.campaign.inForce ?? look.campaign.newest)
        var facts = [
            Fact(name: "App", words: row.app), Fact(name: "Version", words: "\(row.version)"),
            Fact(name: "Audience", words: AudienceText.words(definition)),
            Fact(name: "Schedule", words: row.scheduleText),
        ]
        if let rate = definition["rate"] {
            facts.append(
                Fact(name: "Pace", words: "at most \(rate.stringValue ?? rate["per"]?.stringValue ?? rate.text)")
            )
        }
        for (key, name) in [("ttl", "Time to live"), ("category", "Category"), ("lane", "Lane")] {
            if let text = definition[key]?.stringValue { facts.append(Fact(name: name, words: text)) }
        }
        if let event = look.progress?.eventID {
            facts.append(Fact(name: "Last event", link: PageLink(name: "\(event)", href: "/events/\(event)")))
        }
        if row.isFromFile { facts.append(Fact(name: "From", words: "a file: change it there, and apply it")) }
        return facts
    }
}

/// What can be done to a campaign as it stands.
struct CampaignStanding: Sendable {
    /// Whether it, or what is under way of it, is paused.
    let isPaused: Bool
    /// Why it cannot be started; nil if it can.
    let whyNotStart: String?
    /// Why it cannot be paused; nil if it can.
    let whyNotPause: String?
    /// Why it cannot be aborted; nil if it can.
    let whyNotAbort: String?
    /// Pairs that are planned and not at their end; more may be planned.
    let left: Int64

    /// Finds it out.
    init(_ look: CampaignLook) {
        let run = look.progress?.run
        let isRunning = run?.isRunning ?? false
        isPaused = look.campaign.state == "paused" || (isRunning && run?.hold?.hasPrefix("paused") == true)
        left = isRunning ? look.progress?.left ?? 0 : 0
        whyNotStart =
            look.campaign.inForce == nil
            ? "nothing of it is in force" : isPaused ? "it is paused" : isRunning ? "it is under way" : nil
        whyNotPause = isRunning || look.campaign.state == "active" ? nil : "there is nothing to pause"
        whyNotAbort = run?.state == "running" || run?.state == "reading" ? nil : "nothing of it is under way"
    }
}

extension TestForm {
    fileprivate init(_ visit: Visit) async throws {
        let path = "\(visit.call.path)/test"
        self.init(
            action: path,
            user: TextField(name: "user", label: "User", value: "", example: "whose devices get it"),
            seal: try await visit.session.seal(path, visit.call),
            hint: "It goes at once, past caps, quiet hours and opt-outs of its category, and to nobody else."
        )
    }
}
