internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The overview: problems, traffic, backlog and daemons.
    static let overview = ConsolePage(
        "/",
        "overview",
        parts: [
            "live-health": "health", "live-figures": "figures", "live-charts": "overview-charts",
            "live-campaigns": "overview-campaigns", "live-lanes": "overview-lanes", "live-outcomes": "ended",
            "live-daemons": "overview-daemons",
        ]
    ) { visit in
        let app = visit.filter("app")
        let traffic = try await visit.traffic()
        let backlog = try await visit.queries.backlog.value(for: 0) { [database = visit.database] in
            try await database.rows(of: SQL.listBacklog())
        }
        let unplanned = try await visit.queries.unplanned.value(for: 0) { [database = visit.database] in
            try await database.rows(of: SQL.unplannedEvents()).first
        }
        let runs = try await visit.queries.campaigns.value(for: 0) { [database = visit.database] in
            try await database.runningCampaigns()
        }
        let fleet = try await visit.fleet(of: app)
        let paces = visit.queries.paces
        paces.see(visit.status.daemons)
        return OverviewPage(
            frame: visit.frame("Overview"),
            health: HealthPanel(visit.status),
            filter: FilterForm(visit, [.chosen("app", "App", try await visit.apps(), visit), .span(visit)]),
            figures: traffic.figures + KeyFigure.waiting(backlog, unplanned, of: app, at: visit.now)
                + [fleet.keyFigure(gone: traffic.gone, in: visit.span)],
            throughput: traffic.throughput,
            latency: traffic.latency,
            missing: traffic.missing,
            lanes: LaneLine.lines(backlog, of: app, at: visit.now),
            outcomes: traffic.outcomes,
            campaigns: runs.filter { app == nil || $0.run.app == app }.map {
                CampaignProgressCard($0, actions: CampaignProgressCard.actions($0.run, visit))
            },
            daemons: visit.status.daemons.map { DaemonLine($0, paces, at: visit.now) },
            leaders: LeaderLine.lines(visit.status.daemons)
        )
    }
}

/// `/`: problems, traffic, backlog and daemons.
struct OverviewPage: ViewContext {
    let frame: Frame
    let health: HealthPanel
    let filter: FilterForm
    let figures: [KeyFigure]
    let throughput: ChartFigure
    let latency: ChartFigure
    /// The reasons why pushes did not arrive.
    let missing: ChartFigure
    let lanes: [LaneLine]
    /// The outcomes of the deliveries of the time shown, the most frequent first.
    let outcomes: [OutcomeLine]
    let campaigns: [CampaignProgressCard]
    let daemons: [DaemonLine]
    let leaders: [LeaderLine]
}

extension Visit {
    /// Returns charts and sums for the time and the app in the address.
    ///
    /// - Returns: the digest, shared by all viewers for some seconds.
    /// - Throws: ``ToolError``.
    func traffic() async throws -> TrafficDigest {
        let window = ConsoleQueries.Window(span: span, app: filter("app"))
        return try await queries.traffic.value(for: window) { [database, now] in
            try await TrafficDigest(window, in: database, at: now)
        }
    }
}

extension KeyFigure {
    /// Returns the size of the backlog and the wait of its oldest batch.
    ///
    /// - Parameters:
    ///   - rows: the rows of the backlog.
    ///   - unplanned: events of all apps that no daemon has planned yet.
    ///   - app: the app; nil for all.
    ///   - now: the database's time, in microseconds since 1970.
    /// - Returns: two figures.
    fileprivate static func waiting(
        _ rows: [BacklogRow],
        _ unplanned: UnplannedEventsRow?,
        of app: String?,
        at now: Int64
    ) -> [KeyFigure] {
        let events = unplanned?.events ?? 0
        let outbox = "\(FigureText.counted(events, "event"))\(unplanned?.isMore == true ? "+" : "") not planned yet"
        let rows = rows.filter { app == nil || $0.app == app }
        func age(_ lane: Lane) -> Int64? {
            Backlog(rows.filter { $0.lane == lane.rawValue }).oldest.map { max(0, now - $0) }
        }
        func text(_ age: Int64?) -> String { age.map { FigureText.duration(Double($0) / 1_000_000) } ?? "none" }
        let all = Backlog(rows)
        let oldest = age(.transactional)
        return [
            KeyFigure(
                "Oldest pending, transactional",
                text(oldest),
                note: "normal \(text(age(.normal))) · bulk \(text(age(.bulk)))",
                tone: (oldest ?? 0) > 60_000_000 ? .bad : .quiet
            ),
            KeyFigure(
                "Waiting",
                FigureText.short(Double(all.ready)) + (all.isMore ? "+" : ""),
                note: all.ready + all.waiting == 0
                    ? events > 0 ? outbox : "nothing pending"
                    : (events > 0 ? "\(outbox) · " : "")
                        + "\(FigureText.short(Double(all.gated))) of campaigns · \(FigureText.short(Double(all.waiting))) scheduled"
            ),
        ]
    }
}
