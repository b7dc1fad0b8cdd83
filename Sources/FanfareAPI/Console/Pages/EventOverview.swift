internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareStore
internal import FanfareTools
internal import PostgresClient

/// What was gathered of one event.
struct EventOverview {
    let visit: Visit
    let detail: EventDetail
    /// Behind which batch was counted; nil for all from the first.
    let from: Int64?
    let tally: EventTally
    /// Where the counting goes on; nil where all is counted.
    var countOn: String?
    /// Whether something may wait that was not counted, where very much does.
    var mayWait = false
    var pager = Pager(shown: "", first: nil, next: nil, searchedTo: nil, further: nil)
    var pushes: [DeliveryRow] = []
    var rules: [WhyRow] = []
    var apps: [String] = []
    /// Nil where they are not asked for.
    var variants: VariantCounts?

    init(_ visit: Visit, _ detail: EventDetail, from: Int64?) {
        (self.visit, self.detail, self.from) = (visit, detail, from)
        tally = EventTally(detail.outcomes)
    }

    private var event: FoundEvent { detail.event }
    private var isAll: Bool { countOn == nil && from == nil }

    /// Whether nothing was found that waits of it.
    var seemsOver: Bool { event.fate != "waiting" && !event.isOver && isAll && tally.open == 0 }

    /// Whether the variants are asked for.
    var showsVariants: Bool { visit.filter("show") == "variants" }

    /// Nothing new comes of an event that ended long ago.
    private var isLive: Bool {
        event.fate == "waiting" || tally.open > 0 || visit.now - event.createdAt.microseconds < 600_000_000
    }

    /// The page.
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
            payload: payload,
            whyNot: whyNot,
            deliveries: pushes.map(PushLine.init),
            pager: pager
        )
    }

    /// A reader's token sees no payloads.
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

    /// Of what an aborted campaign stopped, who did that: replaying it would be refused.
    private func advice(_ end: EventTally.End) -> String? {
        guard end.outcome == "cancelled", let run = detail.run, run.isAborted else { return nil }
        return "The campaign was aborted\(run.abortedBy.map { " by \($0)" } ?? "") before it was sent."
    }

    private var actions: [ActionLink] {
        let done = event.isOver || seemsOver && !mayWait ? "nothing pending" : nil
        return [
            ActionLink("Cancel", "/events/\(event.id)/cancel", .bad, refused: visit.refusal(.cancel) ?? done),
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

    /// The end of the list of pushes.
    ///
    /// - Parameters:
    ///   - visit: whose.
    ///   - pushes: a part of the list.
    ///   - next: the address of the next part.
    ///   - isFirst: whether it is the first.
    /// - Returns: says what is shown, and leads on.
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
            next: pushes.isStopped ? nil : next,
            searchedTo: nil,
            further: pushes.isStopped ? next : nil
        )
    }
}
