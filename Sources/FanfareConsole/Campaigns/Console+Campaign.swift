internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of one campaign: progress, outcomes of earlier runs, messages and actions.
    static let campaign = ConsolePage(
        "/campaigns/{app}/{name}",
        "campaign",
        parts: [
            "live-head": "campaign-head", "live-progress": "campaign-progress", "live-canary": "canary",
            "live-variants": "variants", "live-reports": "reports", "live-outcomes": "ended", "live-runs": "runs",
        ]
    ) { visit in
        try await CampaignPage.load(visit)
    }
}

extension Visit {
    /// The campaign that the path names.
    var campaign: RuleID { RuleID(app: call.name("app"), name: call.name("name")) }

    /// Reads the campaign that the path names.
    ///
    /// - Parameters:
    ///   - before: only runs before this time; nil for the newest.
    ///   - limit: the largest number of runs.
    /// - Returns: the campaign.
    /// - Throws: a ``Problem`` if there is no such campaign, and the database's error.
    func campaignSummary(before: Timestamp? = nil, limit: Int64 = 1) async throws -> CampaignSummary {
        guard
            let summary = try await database.campaignSummary(campaign, before: before, limit: limit, isUpdate: isUpdate)
        else {
            throw Problem(.absent, "there is no such campaign", hint: "See Campaigns for the list.")
        }
        return summary
    }
}

/// `/campaigns/{app}/{name}`: one campaign.
struct CampaignPage: ViewContext {
    let frame: Frame
    let badge: Badge
    let words: String
    let progress: CampaignProgressCard?
    let canary: CanaryGate?
    let actions: [ActionLink]
    let facts: [Fact]
    let outcomes: [OutcomeLine]
    /// The variants of the newest run; nil if the campaign has none.
    let variants: VariantTable?
    /// The counts of reports of the newest run; nil if there are none.
    let reports: ReportTable?
    let waves: [WaveLine]
    /// The text in the place of ``waves``.
    let noWaves: String
    let next: [Moment]
    let runs: [RunLine]
    let pager: Pager
    /// The campaign's definition as it was stored.
    let definition: String
    let test: TestForm?
    let preview: CampaignPreview?
    /// The last actions, newest first.
    var actionLog: [ActionLogLine] = []
    var hasActionLog: Bool { !actionLog.isEmpty }
}

/// An action on a campaign.
struct ActionLogLine: ViewContext {
    let at: Moment
    /// The action, such as `pause`.
    let word: String
    /// The token's name.
    let actor: String
    let reason: String?
}

extension CampaignPage {
    private static let limit: Int64 = 20

    /// Reads the page's data.
    ///
    /// - Parameter visit: the request's visit.
    /// - Returns: the page.
    /// - Throws: a ``Problem`` if there is no such campaign, and the database's error.
    fileprivate static func load(_ visit: Visit) async throws -> CampaignPage {
        let list = "console campaign\n\(visit.campaign.app)\n\(visit.campaign.name)"
        let before = try await visit.place(in: list).map { Timestamp(microseconds: $0[0]) }
        let summary = try await visit.campaignSummary(before: before, limit: limit + 1)
        let shown = summary.history.prefix(Int(limit))
        let last = summary.history.count > shown.count ? shown.last : nil
        let progress = summary.progress.flatMap { $0.run.isRunning ? $0 : nil }
        return CampaignPage(
            frame: visit.frame(summary.campaign.name, parent: PageLink(name: "Campaigns", href: "/campaigns")),
            badge: progress.map { CampaignProgressCard.badge($0.run) } ?? Badge(campaign: summary.campaign),
            words: words(summary),
            progress: progress.map { CampaignProgressCard($0, actions: []) },
            canary: summary.canary.map { CanaryGate($0, summary, visit) },
            actions: actions(summary, visit),
            facts: facts(summary),
            outcomes: outcomes(summary.progress?.attempts ?? []),
            variants: try await variants(summary, visit),
            reports: ReportTable(
                try await visit.database.reports(ofRun: summary.progress?.eventID),
                column: "Newest run",
                name: summary.campaign.name
            ),
            waves: summary.waves.map { WaveLine($0, summary, now: visit.now) },
            noWaves: summary.campaign.isByRecipient
                ? "Each device gets it at the campaign's time in its own time zone. Nothing is pending now."
                : "Sent to everyone at the same moment.",
            next: summary.due.map { due in
                due.isByRecipient
                    ? Moment(wall: due.wall, planned: due.at.microseconds) : Moment(due.at.microseconds, .short)
            },
            runs: shown.map { RunLine($0, newest: summary.progress?.run) },
            pager: Pager(
                shown: FigureText.counted(Int64(shown.count), "run"),
                first: before == nil ? nil : visit.address([:]),
                next: try await visit.address(of: last.map { [$0.scheduledAt.microseconds] }, in: list)
            ),
            definition: summary.campaign.newest.yaml,
            test: try await visit.refusal(.test) == nil && summary.campaign.inForce != nil ? TestForm(visit) : nil,
            preview: visit.isUpdate ? nil : try await CampaignPreview(summary.campaign, visit),
            actionLog: summary.actionLog.map {
                ActionLogLine(
                    at: Moment($0.at.microseconds, .short),
                    word: String($0.action.dropFirst("campaign.".count)),
                    actor: $0.actor,
                    reason: $0.reason
                )
            }
        )
    }

    /// Returns the final outcomes.
    private static func outcomes(_ attempts: [AttemptCount]) -> [OutcomeLine] {
        let counts = attempts.map { (OutcomeKey(outcome: $0.outcome, reason: $0.reason), $0.count) }
        return OutcomeLine.lines(Dictionary(counts.filter { $0.0.isEnd }) { $0 + $1 })
    }

    /// Summarizes the campaign in a sentence.
    private static func words(_ summary: CampaignSummary) -> String {
        let run = summary.progress?.run
        let state =
            switch run {
            case let run? where run.state == "aborting":
                "It is being aborted: unsent pushes are recorded as cancelled."
            case let run? where run.isRunning && summary.campaign.state == "paused":
                "It is paused: unsent pushes wait until it is resumed."
            case let run? where run.isRunning: run.hold.map { "It is held: \($0)." } ?? "It is running."
            case _ where summary.campaign.state == "paused": "It is paused: no run starts until it is resumed."
            case let run? where run.state == "aborted": "Not running. \(aborted(summary))"
            default: "Not running."
            }
        return ([state] + [summary.campaign.note.map { "\($0)." }].compactMap(\.self)).joined(separator: " ")
    }

    /// Names the actor that aborted the newest run, and what became of its pushes.
    private static func aborted(_ summary: CampaignSummary) -> String {
        let by = summary.actionLog.first { $0.action == "campaign.abort" }.map { " by \($0.actor)" } ?? ""
        let stopped = summary.progress?.attempts.filter { $0.outcome == "cancelled" }.reduce(0) { $0 + $1.count } ?? 0
        let accepted = FigureText.counted(summary.progress?.run.accepted ?? 0, "push was", "pushes were")
        return "The last run was aborted\(by): \(accepted) accepted before, \(FigureText.count(stopped)) cancelled."
    }

    /// Counts the outcomes of each variant of the newest run.
    private static func variants(_ summary: CampaignSummary, _ visit: Visit) async throws -> VariantTable? {
        let definition = summary.campaign.inForce ?? summary.campaign.newest
        guard let event = summary.progress?.eventID, let run = summary.progress?.run,
            definition["variants"] != nil || definition["holdout"] != nil
        else { return nil }
        let counts = try await visit.queries.variants.counts(ofEvent: event, visit.database)
        return counts.total == 0 ? nil : VariantTable(counts, of: run.planned)
    }

    /// Returns the possible actions, and for each other one the reason why it is not possible.
    private static func actions(_ summary: CampaignSummary, _ visit: Visit) -> [ActionLink] {
        guard visit.session.may(.operator) else { return [] }
        let href = CampaignProgressCard.href(summary.campaign.app, summary.campaign.name)
        let standing = CampaignStanding(summary)
        return [
            ActionLink("Start now", "\(href)/start", refused: visit.refusal(.start) ?? standing.whyNotStart),
            standing.isPaused
                ? ActionLink("Resume", "\(href)/resume", .warn, refused: visit.refusal(.resume))
                : ActionLink("Pause", "\(href)/pause", .warn, refused: visit.refusal(.pause) ?? standing.whyNotPause),
            ActionLink("Abort", "\(href)/abort", .bad, refused: visit.refusal(.abort) ?? standing.whyNotAbort),
        ]
    }

    private static func facts(_ summary: CampaignSummary) -> [Fact] {
        let (row, definition) = (summary.campaign, summary.campaign.inForce ?? summary.campaign.newest)
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
        facts += divided(definition)
        if let ttl = definition["ttl"]?.stringValue {
            facts.append(Fact(name: "Time to live", words: FigureText.span(ttl)))
        }
        for (key, name) in [("category", "Category"), ("lane", "Lane")] {
            if let text = definition[key]?.stringValue { facts.append(Fact(name: name, words: text)) }
        }
        if let event = summary.progress?.eventID {
            facts.append(Fact(name: "Last event", link: PageLink(name: "\(event)", href: "/events/\(event)")))
        }
        if row.isFromFile { facts.append(Fact(name: "From", words: "a file; edit it there and apply it")) }
        return facts
    }

    /// Describes how the audience is divided between messages, and the share that is held out.
    private static func divided(_ definition: JSONValue) -> [Fact] {
        var facts: [Fact] = []
        let variants = (definition["variants"]?.arrayValue ?? []).map { variant in
            (name: variant["name"]?.stringValue ?? "–", weight: variant["weight"]?.numberValue?.integer ?? 1)
        }
        // Within the limits of a campaign: 16 variants, each with a weight of a million at most.
        let whole = variants.reduce(0) { $0 + max(0, min($1.weight, 1_000_000)) }
        let shares = variants.map { "\($0.name) \(FigureText.share(max(0, min($0.weight, 1_000_000)), of: whole))" }
        if !shares.isEmpty { facts.append(Fact(name: "Variants", words: shares.joined(separator: ", "))) }
        if let holdout = definition["holdout"]?.stringValue {
            facts.append(Fact(name: "Holdout", words: "\(holdout) of users get nothing (control group)"))
        }
        return facts
    }
}

/// The form that sends a campaign to one user.
struct TestForm: ViewContext {
    let action: String
    let user: TextField
    let seal: String
    let hint: String
}

extension TestForm {
    fileprivate init(_ visit: Visit) async throws {
        let path = "\(visit.call.path)/test"
        self.init(
            action: path,
            user: TextField(name: "user", label: "User", value: "", example: "user id"),
            seal: try await visit.session.seal(path, visit.call),
            hint: "Sent at once to this user only, ignoring caps, quiet hours and opt-outs of its category."
        )
    }
}
