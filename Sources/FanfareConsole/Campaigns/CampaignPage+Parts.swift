internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// The canary, or the sample of an experiment: the first part of an audience, after which the rest waits.
struct CanaryGate: ViewContext {
    let title: String
    let badge: Badge
    let words: String
    /// The canary's share of the audience, such as `1 %`.
    let share: String
    let sent: String
    let failed: String
    let limit: String
    /// The time at which the gate opens automatically.
    let opens: Moment?
    let actions: [ActionLink]
}

extension CanaryGate {
    /// Shows the state of the canary.
    ///
    /// - Parameters:
    ///   - row: the state of its gates.
    ///   - summary: the campaign.
    ///   - visit: the request's visit.
    init(_ row: CanaryStandingRow, _ summary: CampaignSummary, _ visit: Visit) {
        let isHeld = row.state == "held" || row.state == "paused"
        let (badge, words): (Badge, String) =
            switch (row.verdict, isHeld) {
            case ("failed", true):
                (
                    Badge(.warn, "failed, rest held"),
                    "Too many failed. The rest is sent only if the campaign is resumed."
                )
            case ("failed", false):
                (Badge(.quiet, row.state), "Too many failed; an operator resumed or aborted the rest.")
            case ("passed", _) where row.isExperiment: Self.experiment(row)
            case (nil, true) where row.isExperiment:
                (Badge(.busy, "waiting"), "The rest waits for the first evaluation of the sample.")
            case ("passed", _): (Badge(.good, "passed"), "Few enough failed: the rest is sent.")
            case (_, true): (Badge(.busy, "waiting"), "The rest waits for its result.")
            default: (Badge(.quiet, row.state), "It was not evaluated.")
            }
        let href = CampaignProgressCard.href(summary.campaign.app, summary.campaign.name)
        var actions: [ActionLink] = []
        if row.verdict == "failed" && isHeld || row.isUndecided {
            actions = [
                ActionLink(
                    row.isUndecided && row.state == "paused" ? "Resume" : "Send to the rest",
                    "\(href)/resume",
                    .warn,
                    refused: visit.refusal(.resume)
                ),
                ActionLink("Abort", "\(href)/abort", .bad, refused: visit.refusal(.abort)),
            ].filter { $0.refused == nil }
        }
        if let event = summary.progress?.eventID {
            actions.append(ActionLink("View its pushes", "/events/\(event)"))
        }
        self.init(
            title: row.isExperiment ? "Experiment" : "Canary",
            badge: badge,
            words: words,
            share: row.share.map { "\(FigureText.short($0 * 100)) %" }
                ?? row.devices.map { "about \(FigureText.counted(Int64($0), "device"))" } ?? "–",
            sent: FigureText.count(row.answered),
            failed: "\(FigureText.count(row.failed)) (\(FigureText.share(row.failed, of: row.answered)))",
            limit: "\(FigureText.short(row.maxFailed * 100)) %",
            opens: row.verdict == nil && isHeld ? row.judgedAt.map { Moment($0.microseconds, .short) } : nil,
            actions: actions
        )
    }
}

extension CanaryGate {
    /// How an experiment stands whose sample was sent.
    private static func experiment(_ row: CanaryStandingRow) -> (Badge, String) {
        let detail = row.detail.map { "\($0). " } ?? ""
        if row.isUndecided {
            return (Badge(.warn, "not decided"), "\(detail)The rest waits.")
        }
        guard let winner = row.winner else {
            return (Badge(.quiet, "not decided"), "\(detail)The rest gets the variants as the sample did.")
        }
        return (Badge(.good, winner), "\(detail)The rest gets \(winner).")
    }
}

/// The deliveries of one instant of a campaign by local time.
struct WaveLine: ViewContext {
    let at: Moment
    let zones: String
    let devices: String
    let badge: Badge
}

/// The actions that a campaign's state allows.
struct CampaignStanding: Sendable {
    /// Whether the campaign or its current run is paused.
    let isPaused: Bool
    /// Why the campaign cannot be started; nil if it can.
    let whyNotStart: String?
    /// Why the campaign cannot be paused; nil if it can.
    let whyNotPause: String?
    /// Why the campaign cannot be aborted; nil if it can.
    let whyNotAbort: String?
    /// The deliveries that are planned and have no final outcome; more may be planned.
    let left: Int64

    /// Derives the state from a summary.
    init(_ summary: CampaignSummary) {
        let run = summary.progress?.run
        let isRunning = run?.isRunning ?? false
        isPaused = summary.campaign.state == "paused" || (isRunning && run?.hold?.hasPrefix("paused") == true)
        left = isRunning ? summary.progress?.left ?? 0 : 0
        whyNotStart =
            summary.campaign.inForce == nil
            ? "no version is in force" : isPaused ? "it is paused" : isRunning ? "it is running" : nil
        whyNotPause = isRunning || summary.campaign.state == "active" ? nil : "there is nothing to pause"
        whyNotAbort = run?.state == "running" || run?.state == "querying" ? nil : "not running"
    }
}

extension WaveLine {
    /// Shows the deliveries that wait for one instant.
    ///
    /// - Parameters:
    ///   - row: the instant.
    ///   - summary: the campaign.
    ///   - now: the time, in microseconds since 1970.
    init(_ row: CampaignWavesRow, _ summary: CampaignSummary, now: Int64) {
        let isDue = row.dueAt.microseconds <= now
        let isHeld = summary.progress?.run.hold != nil
        self.init(
            at: Moment(row.dueAt.microseconds, .short),
            zones: "time zones at \(Self.offset(Int(row.offsetMinutes)))",
            devices: (row.isExact ? "" : "about ") + FigureText.counted(row.deliveries, "device"),
            badge: isHeld ? Badge(.warn, "held") : isDue ? Badge(.busy, "sending now") : Badge(.quiet, "waiting")
        )
    }

    /// As in `UTC+5:30`.
    private static func offset(_ minutes: Int) -> String {
        guard minutes != 0 else { return "UTC" }
        let size = abs(minutes)
        let rest = size % 60 == 0 ? "" : ":" + (size % 60 < 10 ? "0" : "") + "\(size % 60)"
        return "UTC\(minutes < 0 ? "\u{2212}" : "+")\(size / 60)\(rest)"
    }
}

/// One run of a campaign.
struct RunLine: ViewContext {
    let at: Moment
    let event: PageLink?
    let badge: Badge
    let planned: String
    let accepted: String
    let failed: String
    let took: String
    let bar: Markup
}

extension RunLine {
    /// Shows a run.
    ///
    /// - Parameters:
    ///   - row: the run.
    ///   - newest: the progress of the newest run, which may still be planning.
    init(_ row: CampaignHistoryRow, newest: CampaignRun?) {
        let run = newest?.runID == row.id ? newest : nil
        let planned = run?.planned ?? row.planned
        let others = max(0, row.ended - row.accepted - row.failed)
        var took = "–"
        if let from = row.firedAt, let until = row.endedAt {
            took = FigureText.duration(Double(until.microseconds - from.microseconds) / 1_000_000)
        }
        var badge = run.map(CampaignProgressCard.badge) ?? Badge(run: row.state)
        if row.state == "failed" || row.state == "skipped", let detail = row.detail {
            badge = Badge(Tone(rawValue: badge.tone) ?? .quiet, "\(row.state): \(detail)")
        }
        self.init(
            at: Moment(row.scheduledAt.microseconds, .short),
            event: row.eventID.map { PageLink(name: "\($0)", href: "/events/\($0)") },
            badge: badge,
            planned: FigureText.count(planned),
            accepted: FigureText.count(row.accepted),
            failed: FigureText.count(row.failed),
            took: took,
            bar: ShareBar.markup(
                [(.accepted, row.accepted), (.rejected, row.failed), (.own, others)],
                of: max(planned, row.ended)
            )
        )
    }
}
