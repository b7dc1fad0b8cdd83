internal import FanfareConfiguration
internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of one event.
    static let event = ConsolePage(
        "/events/{id}",
        "event",
        parts: [
            "live-head": "event-head", "live-trace": "event-trace", "live-audience": "event-audience",
            "live-outcomes": "event-outcomes", "live-variants": "variants", "live-reports": "reports",
            "live-deliveries": "event-deliveries",
        ]
    ) { visit in
        let id = try visit.call.id("id")
        let list = ["/events/\(id)", visit.filter("outcome") ?? "", visit.filter("reason") ?? ""].joined(
            separator: "\n"
        )
        // The count does not depend on the filter of the listed pushes.
        let batches = "/events/\(id)\ncounted"
        let counted = try await visit.place(in: batches, "counted")?[0]
        let detail = try await visit.database.eventDetail(id, after: counted ?? 0)
        var overview = EventOverview(visit, detail, from: counted)
        overview.countOn = try await visit.address(of: detail.next.map { [$0] }, in: batches, "counted")
        if overview.seemsOver {
            let unsent = UnsentEvents(try await visit.database.rows(of: SQL.listUnsent([id])), of: [detail.event])
            overview.mayWait = !unsent.isNothing
        }
        let after = try await visit.place(in: list, count: ToolDatabase.placeOfPush)
        let pushes = try await visit.database.pushes(
            ofEvent: id,
            outcome: visit.filter("outcome"),
            reason: visit.filter("reason"),
            after: after,
            limit: 25
        )
        let next = try await visit.address(of: pushes.next, in: list).map { $0 + "#live-deliveries" }
        overview.pager = EventOverview.pager(visit, pushes, next: next, isFirst: after == nil)
        overview.pushes = pushes.rows
        if !visit.isUpdate {
            // Updates by the stream do not contain the verdicts of the rules.
            overview.rules = try await visit.database.ruleVerdicts(ofEvent: id)
            overview.apps = try await visit.apps()
        }
        if overview.showsVariants {
            overview.variants = try await visit.queries.variants.counts(ofEvent: id, visit.database)
            if !visit.isUpdate { overview.lift = try await overview.comparison() }
        }
        overview.reports = try await visit.database.rows(of: SQL.eventFunnel(id))
        return overview.page
    }
}

/// `/events/{id}`: one event.
struct EventPage: ViewContext {
    let frame: Frame
    let id: String
    let type: String
    let fate: Badge
    /// The event's fate and outcomes, in a sentence.
    let verdict: String
    let facts: [Fact]
    let actions: [ActionLink]
    let trace: EventTrace
    let rules: [EventRuleLine]
    let audience: [AudienceLine]
    let hasOutcomes = true
    /// The suppressed deliveries by reason.
    let suppressed: [OutcomeLine]
    let outcomes: [OutcomeLine]
    /// The outcomes by variant; nil if the address does not ask for them.
    let variants: VariantTable?
    /// The counts of reports; nil if no rule of the event has any.
    let reports: ReportTable?
    /// The comparison of the variants with the holdout; nil if the address does not ask for it, or the event is large.
    let lift: ReportTable?
    let payload: PayloadView
    /// The form that leads to the user's page.
    let whyNot: FilterForm
    let deliveries: [PushLine]
    let pager: Pager
}

/// An event's payload, or the reason why it is not shown.
struct PayloadView: ViewContext {
    /// The payload, indented by the server from PostgreSQL's text: numbers stay as they are.
    let json: String?
    let hidden: String?
    let size: String
}

/// The data of an event's page.
struct EventOverview {
    let visit: Visit
    let detail: EventDetail
    /// The batch after which counting started; nil for all batches.
    let from: Int64?
    let tally: EventTally
    /// The address that continues the count; nil if all batches are counted.
    var countOn: String?
    /// Whether deliveries may be pending beyond the part that was counted.
    var mayWait = false
    var pager = Pager(shown: "")
    var pushes: [DeliveryRow] = []
    var rules: [WhyRow] = []
    var apps: [String] = []
    /// The counts of variants; nil if the address does not ask for them.
    var variants: VariantCounts?
    var reports: [ReportFunnelRow] = []
    var lift: [LiftRow] = []

    init(_ visit: Visit, _ detail: EventDetail, from: Int64?) {
        (self.visit, self.detail, self.from) = (visit, detail, from)
        tally = EventTally(detail.outcomes)
    }

    private var event: FoundEvent { detail.event }
    private var isAll: Bool { countOn == nil && from == nil }

    /// Whether no pending delivery was found.
    var seemsOver: Bool { event.fate != "waiting" && !event.isOver && isAll && tally.open == 0 }

    /// Whether the address asks for the variants.
    var showsVariants: Bool { visit.filter("show") == "variants" }

    /// The deliveries up to which variants are compared on a page: it takes about 8 µs each.
    private static let compared: Int64 = 200_000

    /// Compares the variants with the holdout; empty for a large event.
    func comparison() async throws(ToolError) -> [LiftRow] {
        guard tally.deliveries <= Self.compared else { return [] }
        return try await visit.database.lift(ofEvent: event.id)
    }

    /// Whether the page is updated: while the event has pending deliveries, and for 10 minutes after its emit.
    private var isLive: Bool {
        event.fate == "waiting" || tally.open > 0 || visit.now - event.createdAt.microseconds < 600_000_000
    }

    /// The page's context.
    var page: EventPage {
        let parent = PageLink(name: "Events", href: PageAddress("/events", ["type": event.type]).text)
        let ends = tally.ends
        return EventPage(
            frame: visit.frame(event.type, parent: parent, isLive: isLive),
            id: "\(event.id)",
            type: event.type,
            fate: event.badge(tally, detail.run),
            verdict: event.verdict(tally, isAll: isAll && !mayWait, detail.run),
            facts: facts,
            actions: actions,
            trace: EventTrace(detail, tally, now: visit.now),
            rules: rules.compactMap { EventRuleLine($0, tally.rules) },
            audience: tally.targets.map { AudienceLine($0.target, $0.ends) },
            suppressed: ends.filter { PushText.isKept($0.outcome) }.map {
                OutcomeLine($0, of: tally.deliveries, visit, advice: advice($0))
            },
            outcomes: ends.filter { !PushText.isKept($0.outcome) }.map { OutcomeLine($0, of: tally.deliveries, visit) },
            variants: variants.map { VariantTable($0, of: isAll ? tally.deliveries : nil) },
            reports: ReportTable(reports),
            lift: ReportTable(lift),
            payload: payload,
            whyNot: whyNot,
            deliveries: pushes.map(PushLine.init),
            pager: pager
        )
    }

    /// The payload, which a token with scope `reader` does not see.
    private var payload: PayloadView {
        let isShown = visit.session.may(.operator)
        let hidden =
            detail.payload == nil ? "Not stored." : isShown ? nil : "Shown to tokens with the scope operator only."
        return PayloadView(
            json: isShown ? detail.payload : nil,
            hidden: hidden,
            size: "\(FigureText.count(detail.payloadBytes)) bytes"
        )
    }

    private var facts: [Fact] {
        var facts = [
            Fact(name: "Id", code: "\(event.id)"),
            Fact(name: "Emitted", time: Moment(event.createdAt.microseconds, .full)),
        ]
        if let run = detail.run {
            let href = CampaignProgressCard.href(run.app, run.campaign)
            facts.append(Fact(name: "Campaign", link: PageLink(name: run.campaign, href: href)))
        }
        if let key = event.key { facts.append(Fact(name: "Key", code: key)) }
        if let first = event.replayOf {
            facts.append(Fact(name: "Replay of", link: PageLink(name: "\(first)", href: "/events/\(first)")))
        }
        if let countOn {
            facts.append(
                Fact(name: "Counted", words: "partially", link: PageLink(name: "Continue counting", href: countOn))
            )
        } else if from != nil {
            let first = PageLink(name: "From the beginning", href: visit.address(["counted": nil]))
            facts.append(Fact(name: "Counted", words: "the last part", link: first))
        }
        if tally.deliveries > 0, !showsVariants {
            let href = visit.address(["show": "variants"]) + "#live-variants"
            facts.append(Fact(name: "Variants", link: PageLink(name: "Results by variant", href: href)))
        }
        return facts
    }

    /// Returns the hint for deliveries that the abort of a campaign stopped: its actor, because a replay would be
    /// refused.
    private func advice(_ end: EventTally.End) -> String? {
        guard end.outcome == "cancelled", let run = detail.run, run.isAborted else { return nil }
        return "The campaign was aborted\(run.abortedBy.map { " by \($0)" } ?? "") before it was sent."
    }

    private var actions: [ActionLink] {
        let done = event.isOver || seemsOver && !mayWait ? "nothing pending" : nil
        return [
            ActionLink("Cancel", "/events/\(event.id)/cancel", .bad, refused: visit.refusal(.cancel) ?? done),
            ActionLink(
                tally.accepted == 0
                    ? "Take back" : "Take back from \(FigureText.count(tally.accepted))\(isAll ? "" : "+")",
                "/events/\(event.id)/retract",
                .bad,
                refused: visit.refusal(.cancel) ?? (tally.accepted == 0 && isAll ? done : nil)
            ),
            ActionLink("Replay", "/events/\(event.id)/replay", .quiet, refused: visit.refusal(.replay)),
        ]
    }

    private var whyNot: FilterForm {
        FilterForm(
            to: "/people",
            [.typed("user", "User", visit, hint: "As your application knows it."), .chosen("app", "App", apps, visit)],
            keeping: ["event": "\(event.id)"]
        )
    }

    /// Creates the pager of the list of pushes.
    ///
    /// - Parameters:
    ///   - visit: the request's visit.
    ///   - pushes: a part of the list.
    ///   - next: the address of the next part.
    ///   - isFirst: whether it is the first part.
    /// - Returns: the pager.
    static func pager(_ visit: Visit, _ pushes: FoundPushes, next: String?, isFirst: Bool) -> Pager {
        let filter = [visit.filter("outcome"), visit.filter("reason")].compactMap(\.self)
            .map { $0.replacing("_", with: " ") }.joined(separator: ", ")
        let all = visit.address(["outcome": nil, "reason": nil]) + "#live-deliveries"
        return Pager(
            shown: pushes.rows.isEmpty && filter.isEmpty
                ? ""
                : FigureText.counted(Int64(pushes.rows.count), "push", "pushes")
                    + (filter.isEmpty ? "" : ": \(filter)"),
            first: !filter.isEmpty || !isFirst ? all : nil,
            next: next,
            isStopped: pushes.isStopped
        )
    }
}
