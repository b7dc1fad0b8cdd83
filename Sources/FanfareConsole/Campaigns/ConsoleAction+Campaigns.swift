internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareExplain
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools

extension ConsoleAction {
    /// The actions on a campaign; each does what the API's route of the same name does.
    static let campaigns: [ConsoleAction] =
        [
            startCampaign, testCampaign, changeCampaign(.pause, .pause), changeCampaign(.resume, .resume),
            changeCampaign(.abort, .abort),
        ]

    /// Starts a campaign at once, for its whole audience.
    private static let startCampaign = ConsoleAction(path: "/campaigns/{app}/{name}/start", use: .start) {
        visit,
        form in
        try await CampaignStart(visit).question(form, hasGrown: false)
    } perform: { visit, database, fields in
        let start = try await CampaignStart(visit)
        guard start.isAsShown(fields) else {
            let question = try await start.question(ActionForm(visit), hasGrown: true)
            return .page(Console.templates.render("confirm", question))
        }
        _ = try await database.startCampaign(
            app: visit.campaign.app,
            name: visit.campaign.name,
            payload: "{}",
            isConfirmed: true,
            visit.call.context.daemon.configuration()
        ).get()
        return .done("started", at: visit.campaignPath)
    }

    /// Pauses, resumes or aborts a campaign.
    private static func changeCampaign(_ change: CampaignChange, _ use: ConsoleUse) -> ConsoleAction {
        ConsoleAction(path: "/campaigns/{app}/{name}/\(change.rawValue)", use: use) { visit, form in
            ConfirmPage(change, try await visit.campaignSummary(), visit, form)
        } perform: { visit, database, fields in
            let id = visit.campaign
            let summary = try await visit.campaignSummary()
            guard fields["shown"] == ConfirmPage.standing(summary) else {
                // The run or the canary's verdict changed since the page was shown: the confirmation is asked for
                // again.
                let question = ConfirmPage(change, summary, visit, try await ActionForm(visit), isAgain: true)
                return .page(Console.templates.render("confirm", question))
            }
            let winner = fields["winner"].flatMap { $0.isEmpty ? nil : $0 }
            let isChanged = try await database.change(change, app: id.app, campaign: id.name, winner: winner)
            let code = [CampaignChange.pause: "paused", .resume: "resumed", .abort: "aborted"][change]
            return .done(isChanged ? code ?? "unchanged" : "unchanged", at: visit.campaignPath)
        }
    }

    /// Sends a campaign to one user.
    private static let testCampaign = ConsoleAction(path: "/campaigns/{app}/{name}/test", use: .test) {
        visit,
        form in
        let user = visit.filter("user") ?? ""
        let devices = try await visit.database.liveDevices(of: user, app: visit.campaign.app)
        let campaign = try await visit.campaignSummary().campaign
        let sample = campaign.namesUsers ? try await visit.database.sample(of: campaign, user: user) : nil
        return ConfirmPage(
            frame: visit.frame("Send a test to one user?", parent: visit.campaignLink),
            words: user.isEmpty ? "No user is given: enter one on the campaign's page." : "\(user) gets it at once.",
            count: FigureText.count(Int64(devices.count)),
            counted: devices.count == 1 ? "device" : "devices",
            warning: sample?.problem.map { "\($0) A message that uses a column of the query is refused." },
            action: form.action,
            kept: [HiddenField(name: "user", value: user)],
            seal: form.seal,
            verb: "Send a test",
            isDangerous: false,
            isImpossible: devices.isEmpty,
            cancel: visit.campaignPath
        )
    } perform: { visit, database, fields in
        let (id, user) = (visit.campaign, fields["user"] ?? "")
        let devices = try await visit.database.liveDevices(of: user, app: id.app)
        guard !user.isEmpty, !devices.isEmpty else {
            throw Problem(
                .refused,
                user.isEmpty ? "no user is given" : "\(user) has no device of \(id.app) that gets pushes",
                hint: "See People for a user's devices. Nothing was sent."
            )
        }
        _ = try await database.testCampaign(app: id.app, name: id.name, users: [user])
        return .done("tested", at: visit.campaignPath)
    }
}

extension Visit {
    /// The page of the campaign that the path names.
    fileprivate var campaignPath: String { CampaignProgressCard.href(campaign.app, campaign.name) }
    fileprivate var campaignLink: PageLink { PageLink(name: campaign.name, href: campaignPath) }
}

/// A campaign that may be started: the size of its audience, and whether another start came first.
private struct CampaignStart {
    private let visit: Visit
    private let summary: CampaignSummary
    private let reach: CampaignReach

    init(_ visit: Visit) async throws {
        self.visit = visit
        summary = try await visit.campaignSummary()
        let id = visit.campaign
        reach = try await visit.database.reach(
            app: id.app,
            campaign: id.name,
            visit.call.context.daemon.configuration()
        )
    }

    private var counted: CampaignReach.Counted? {
        if case .counted(let counted) = reach { return counted }
        return nil
    }

    private var devices: Int64? { counted?.devices }

    /// The audience, and the numbers of users and devices that were counted.
    private var facts: [Fact] {
        var facts = [
            Fact(name: "Audience", words: AudienceText.words(summary.campaign.inForce ?? summary.campaign.newest))
        ]
        guard let counted else { return facts }
        if let named = counted.named {
            facts.append(Fact(name: "Users returned by the query", words: FigureText.count(named)))
        }
        let devices = FigureText.counted(counted.audience, "device")
        let audience = "\(devices) of \(FigureText.counted(counted.users, "user"))"
        facts.append(Fact(name: "Devices in the audience", words: audience))
        if let text = counted.nothingText { facts.append(Fact(name: "Get nothing", words: text)) }
        if let text = counted.laterText { facts.append(Fact(name: "Get it later", words: text)) }
        if !counted.isComplete {
            let words =
                "Held out, opted out, quiet and capped users are not subtracted: there are too many to count in time."
            facts.append(Fact(name: "Get nothing", words: words))
        }
        return facts
    }

    /// The id of the newest run, so that a form that is sent twice starts the campaign once.
    private var newest: String { summary.history.first.map { "\($0.id)" } ?? "0" }

    /// Whether the form's figures still hold: no run has started since, and the audience has grown by no more than 10
    /// devices or 10 %.
    func isAsShown(_ fields: [String: String]) -> Bool {
        let shown = fields["devices"].flatMap { Int64($0) }
        guard fields["newest"] == newest, (shown == nil) == (devices == nil) else { return false }
        guard let shown, let devices else { return true }
        return devices <= shown + max(10, shown / 10)
    }

    func question(_ form: ActionForm, hasGrown: Bool) throws -> ConfirmPage {
        var (words, count, counted) = ("It starts at once, for all recipients.", "Unknown", "number of devices")
        switch reach {
        case .counted(let counts):
            (count, counted) = (FigureText.count(counts.devices), counts.devices == 1 ? "device" : "devices")
        case .unknown(let reason): words += " The number of recipients is unknown: \(reason)."
        case .nobody: (count, words) = ("0", "It cannot be started.")
        }
        let standing = CampaignStanding(summary)
        if let reason = standing.whyNotStart { words = "It cannot be started: \(reason)." }
        return ConfirmPage(
            frame: visit.frame("Start \(summary.campaign.name) now?", parent: visit.campaignLink),
            words: words,
            count: count,
            counted: counted,
            warning: hasGrown ? "This changed after you were asked: it was started, or reaches more devices now." : nil,
            facts: facts,
            action: form.action,
            kept: [HiddenField(name: "newest", value: newest)]
                + (devices.map { [HiddenField(name: "devices", value: "\($0)")] } ?? []),
            seal: form.seal,
            verb: devices.map { "Send to \(FigureText.counted($0, "device"))" } ?? "Start it",
            isDangerous: true,
            isImpossible: standing.whyNotStart != nil || reach == .nobody,
            cancel: visit.campaignPath
        )
    }
}

extension ConfirmPage {
    /// Creates the page that confirms a pause, resume or abort.
    fileprivate init(
        _ change: CampaignChange,
        _ summary: CampaignSummary,
        _ visit: Visit,
        _ form: ActionForm,
        isAgain: Bool = false
    ) {
        let standing = CampaignStanding(summary)
        let isUndecided = summary.canary?.isUndecided == true
        let whyNot: String? =
            switch change {
            case .pause: standing.isPaused ? "it is paused already" : standing.whyNotPause
            case .resume: standing.isPaused || isUndecided ? nil : "it is not paused"
            case .abort, .drop: standing.whyNotAbort
            }
        let words =
            switch change {
            case .pause: "No run starts, and unsent pushes wait. This takes effect within a second."
            case .resume where isUndecided && !standing.isPaused:
                "The experiment ends, and the rest gets the push now."
            case .resume:
                "Unsent pushes go out, and runs start when they are due. What came due meanwhile was not missed."
            case .abort, .drop:
                "Unsent pushes are never sent; each remaining recipient is recorded as cancelled. The schedule continues."
            }
        var warning = change == .abort ? "This cannot be undone." : nil
        if change == .resume, let canary = summary.canary, canary.verdict == "failed" {
            let failed = FigureText.share(canary.failed, of: canary.answered)
            warning = "\(failed) of its canary failed. This sends to the rest."
        }
        if isAgain { warning = "This changed after you were asked. \(warning ?? "")" }
        let isPlanning = summary.progress?.run.isPlanning == true
        self.init(
            frame: visit.frame("\(change.verb) \(summary.campaign.name)?", parent: visit.campaignLink),
            words: whyNot.map { "Nothing to do: \($0)." } ?? words,
            count: FigureText.count(standing.left) + (isPlanning && standing.left > 0 ? "+" : ""),
            counted: standing.left == 1 ? "push that is not sent yet" : "pushes that are not sent yet",
            warning: whyNot == nil ? warning : nil,
            action: form.action,
            kept: [HiddenField(name: "shown", value: Self.standing(summary))],
            winner: change == .resume && isUndecided && !standing.isPaused ? Self.winners(summary) : nil,
            seal: form.seal,
            verb: change.verb,
            isDangerous: change == .abort,
            isImpossible: whyNot != nil,
            cancel: visit.campaignPath
        )
    }
}

extension ConfirmPage {
    /// The choice between the variants.
    private static func winners(_ summary: CampaignSummary) -> FilterField {
        let variants = summary.campaign.inForce?["variants"]?.arrayValue ?? []
        let names = variants.compactMap { $0["name"]?.stringValue }
        // Before the sample is evaluated, only a winner ends the experiment.
        let each =
            summary.canary?.verdict == nil
            ? [] : [Choice(value: "", label: "each user their own variant", isChosen: true)]
        return FilterField(
            choice: ChoiceField(
                name: "winner",
                label: "Variant for the rest",
                choices: each + names.map { Choice(value: $0, label: $0, isChosen: false) }
            )
        )
    }

    /// The state that a confirmation refers to: the run and its canary's verdict.
    fileprivate static func standing(_ summary: CampaignSummary) -> String {
        "\(summary.progress?.run.runID ?? 0) \(summary.canary?.verdict ?? "")"
    }
}

extension CampaignChange {
    /// The text of the button.
    fileprivate var verb: String {
        switch self {
        case .pause: "Pause"
        case .resume: "Resume"
        case .abort: "Abort"
        case .drop: "Drop"
        }
    }
}
