internal import FanfareConfiguration
internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

/// One current run.
struct CampaignProgressCard: ViewContext {
    let name: String
    let app: String
    let href: String
    let badge: Badge
    let ended: String
    let planned: String
    /// The progress as a number, for the bar; `max` is never zero.
    let value: String
    let max: String
    let percent: String
    /// The send rate, such as `2,400/s`.
    let pace: String
    let ends: Moment?
    /// The remaining time, such as `in 12 min`.
    let remaining: String?
    let failed: String
    /// The reason why the run is held.
    let hold: String?
    /// The outcomes so far.
    let bar: Markup
    let actions: [ActionLink]
}

extension CampaignProgressCard {
    /// Shows the progress of a run.
    ///
    /// - Parameters:
    ///   - progress: the run's progress.
    ///   - actions: the actions on the run.
    init(_ progress: CampaignProgress, actions: [ActionLink]) {
        let run = progress.run
        let isLeft = run.isRunning && progress.left > 0
        self.init(
            name: run.campaign,
            app: run.app,
            href: Self.href(run.app, run.campaign),
            badge: Self.badge(run),
            ended: FigureText.count(run.ended),
            planned: FigureText.count(run.planned) + (run.isPlanning ? " so far" : ""),
            value: String(run.planned > 0 ? min(run.ended, run.planned) : run.isRunning ? 0 : 1),
            max: String(Swift.max(1, run.planned)),
            percent: run.planned > 0 || run.isRunning ? FigureText.share(run.ended, of: run.planned) : "100 %",
            pace: Self.pace(run),
            ends: isLeft ? run.endsAt.map { Moment($0.microseconds, .short) } : nil,
            remaining: isLeft
                ? run.endsAt.map {
                    "in \(FigureText.duration(Double($0.microseconds - run.at.microseconds) / 1_000_000))"
                } : nil,
            failed: "\(FigureText.count(run.accepted)) accepted, \(FigureText.count(run.failed)) failed",
            hold: run.hold,
            bar: Self.bar(progress),
            actions: actions
        )
    }

    /// Returns the path of a campaign's page.
    ///
    /// - Parameters:
    ///   - app: its app.
    ///   - name: its name.
    /// - Returns: a path.
    static func href(_ app: String, _ name: String) -> String {
        "/campaigns/\(PageAddress.encoded(app))/\(PageAddress.encoded(name))"
    }

    /// Returns links to the confirmation pages of the actions on a run.
    ///
    /// - Parameters:
    ///   - run: the run.
    ///   - visit: the request's visit.
    /// - Returns: the actions that the viewer's token allows; empty for a run that has ended.
    static func actions(_ run: CampaignRun, _ visit: Visit) -> [ActionLink] {
        guard run.state == "querying" || run.state == "running" else { return [] }
        let href = href(run.app, run.campaign)
        return [
            isPaused(run)
                ? ActionLink("Resume", "\(href)/resume", refused: visit.refusal(.resume))
                : ActionLink("Pause", "\(href)/pause", .warn, refused: visit.refusal(.pause)),
            ActionLink("Abort", "\(href)/abort", .bad, refused: visit.refusal(.abort)),
        ].filter { $0.refused == nil }
    }

    /// Returns the badge of a run's state.
    ///
    /// - Parameter run: the run.
    /// - Returns: the badge; red only for a failed run.
    static func badge(_ run: CampaignRun) -> Badge {
        switch run.state {
        case "querying": Badge(.busy, "querying its audience")
        case "running" where isPaused(run): Badge(.warn, "paused")
        case "running" where run.hold?.hasPrefix("experiment") == true: Badge(.warn, "waits for its experiment")
        case "running" where run.hold != nil: Badge(.warn, "held by its canary")
        case "running": Badge(.busy, "running")
        case "aborting": Badge(.warn, "aborting")
        case "done": Badge(.good, "done")
        case "failed": Badge(.bad, "failed")
        default: Badge(.quiet, run.state)
        }
    }

    private static func isPaused(_ run: CampaignRun) -> Bool { run.hold?.hasPrefix("paused") ?? false }

    /// Returns the send rate; empty unless the run is sending.
    private static func pace(_ run: CampaignRun) -> String {
        guard run.isRunning, !isPaused(run) else { return "" }
        let pace = "\(FigureText.short(run.pace ?? 0))/s over the last minute"
        return run.perSecond.map { "\(pace), at most \(FigureText.short($0))/s" } ?? pace
    }

    /// Returns the bar of final outcomes, as shares of the deliveries that have ended.
    private static func bar(_ progress: CampaignProgress) -> Markup {
        var parts: [ChartKind: Int64] = [:]
        for count in progress.attempts { parts[PushText.kind(count.outcome), default: 0] += count.count }
        let order: [ChartKind] = [.accepted, .rejected, .gone, .own]
        let shown = order.map { (kind: $0, count: parts[$0] ?? 0) }
        return ShareBar.markup(shown, of: Swift.max(progress.run.ended, shown.reduce(0) { $0 + $1.count }))
    }
}
