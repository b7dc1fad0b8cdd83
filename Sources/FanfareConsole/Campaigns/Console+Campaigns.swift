internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of all campaigns: current runs and the calendar.
    static let campaigns = ConsolePage(
        "/campaigns",
        "campaigns",
        parts: ["live-runs": "campaign-runs", "live-calendar": "campaign-calendar"]
    ) { visit in
        let listing = try await visit.database.campaignListing()
        let filter = CampaignFilter(visit)
        let rows = filter.passing(listing)
        return CampaignListPage(
            frame: visit.frame("Campaigns"),
            filter: filter.form(listing.campaigns, visit),
            running: listing.running.map {
                CampaignProgressCard($0, actions: CampaignProgressCard.actions($0.run, visit))
            },
            calendar: CampaignCalendar(listing, now: visit.now).days,
            zone: "UTC",
            rows: rows.map { CampaignLine($0, listing.running) },
            empty: rows.isEmpty ? .campaigns(hasAny: !listing.campaigns.isEmpty) : nil
        )
    }
}

/// `/campaigns`: planned and running campaigns.
struct CampaignListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let running: [CampaignProgressCard]
    let calendar: [CalendarDay]
    /// The time zone of the calendar's days.
    let zone: String
    let rows: [CampaignLine]
    let empty: Empty?
}

/// The filter of the list of campaigns.
private struct CampaignFilter {
    private static let states = ["refused", "unchecked", "paused", "active", "ended"]

    private let app: String?
    private let state: String?
    private let name: String?

    init(_ visit: Visit) {
        (app, state, name) = (visit.filter("app"), visit.filter("state"), visit.filter("name"))
    }

    /// Returns the campaigns that pass the filter: those that need attention first, then running ones, then by due
    /// time.
    func passing(_ listing: CampaignListing) -> [CampaignRow] {
        let running = Set(listing.running.map { RuleID(app: $0.run.app, name: $0.run.campaign) })
        let passing = listing.campaigns.filter { row in
            (app == nil || row.app == app) && (state == nil || row.state == state)
                && (name.map { row.name.contains($0) } ?? true)
        }
        func rank(_ row: CampaignRow) -> Int { row.reason != nil ? 0 : running.contains(row.id) ? 1 : 2 }
        return passing.sorted {
            (rank($0), $0.nextAt ?? .infinity, $0.app, $0.name) < (rank($1), $1.nextAt ?? .infinity, $1.app, $1.name)
        }
    }

    func form(_ campaigns: [CampaignRow], _ visit: Visit) -> FilterForm {
        FilterForm(
            visit,
            [
                .chosen("app", "App", Set(campaigns.map(\.app)).sorted(), visit),
                .chosen("state", "State", Self.states, visit), .typed("name", "Name", visit),
            ]
        )
    }
}

/// One campaign in the list.
struct CampaignLine: ViewContext {
    let name: String
    let app: String
    let href: String
    let badge: Badge
    let reason: String?
    let schedule: String
    let next: Moment?
    let last: Moment?
    let lastOutcome: Badge?
    let audience: String
}

extension CampaignLine {
    /// Shows a campaign.
    ///
    /// - Parameters:
    ///   - row: the campaign.
    ///   - running: the current runs of all campaigns.
    fileprivate init(_ row: CampaignRow, _ running: [CampaignProgress]) {
        let run = running.last { $0.run.app == row.app && $0.run.campaign == row.name }?.run
        self.init(
            name: row.name,
            app: row.app,
            href: CampaignProgressCard.href(row.app, row.name),
            badge: Badge(campaign: row),
            reason: row.note,
            schedule: row.scheduleText,
            next: row.nextMoment,
            last: row.lastAt.map { Moment($0.microseconds, .short) },
            lastOutcome: run.map(CampaignProgressCard.badge) ?? row.lastState.map(Badge.init(run:)),
            audience: AudienceText.words(row.newest)
        )
    }
}

extension CampaignRow {
    /// Whether the schedule follows each recipient's clock.
    var isByRecipient: Bool { (inForce ?? newest)["schedule"]?["time_zone"]?.stringValue == "recipient" }

    /// The next due time; for a campaign by recipients' clocks, the clock time instead of the instant at which it is
    /// planned for the first recipients.
    fileprivate var nextMoment: Moment? {
        guard let nextAt else { return nil }
        guard isByRecipient, let nextWall else { return Moment(nextAt.microseconds, .short) }
        return Moment(wall: nextWall, planned: nextAt.microseconds)
    }
}

extension Badge {
    /// Creates the badge of a campaign's state.
    ///
    /// - Parameter row: the campaign.
    init(campaign row: CampaignRow) {
        switch row.state {
        case _ where row.reason != nil: self.init(.bad, row.inForce == nil ? "refused" : "\(row.state), newest refused")
        case "active": self.init(.good, "active")
        case "paused": self.init(.warn, "paused")
        case "unchecked": self.init(.busy, "unchecked")
        default: self.init(.quiet, row.state)
        }
    }

    /// Creates the badge of a run's state.
    ///
    /// - Parameter state: the state in the database.
    init(run state: String) {
        let tone: Tone =
            switch state {
            case "done": .good
            case "running", "querying": .busy
            case "failed": .bad
            case "aborting", "aborted", "skipped": .warn
            default: .quiet
            }
        self.init(tone, state)
    }
}

extension Empty {
    fileprivate static func campaigns(hasAny: Bool) -> Empty {
        hasAny
            ? Empty(title: "No campaign matches", words: "Remove a filter to see more.")
            : Empty(
                title: "No campaigns yet",
                words:
                    "A campaign sends to many recipients, on a schedule or on demand. Write one to a file and apply it:",
                command: "fanfare campaigns apply campaigns.yaml"
            )
    }
}
