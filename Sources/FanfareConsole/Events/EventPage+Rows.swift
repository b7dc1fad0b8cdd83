internal import FanfareConsoleView
internal import FanfareRecords
internal import FanfareStore
internal import FanfareTools

extension OutcomeLine {
    /// Shows the count of one outcome.
    ///
    /// - Parameters:
    ///   - end: the outcome.
    ///   - whole: the number of all pushes.
    ///   - visit: the visit of the event's page.
    ///   - advice: the text that replaces the outcome's own advice.
    init(_ end: EventTally.End, of whole: Int64, _ visit: Visit, advice: String? = nil) {
        self.init(
            badge: end.isHeld
                ? Badge(.quiet, "held")
                : end.isAgain ? Badge(.busy, "retrying") : PushText.badge(end.outcome, end.reason),
            reason: PushText.reason(end.reason, of: end.outcome),
            count: FigureText.count(end.deliveries),
            share: FigureText.share(end.deliveries, of: whole),
            bar: ShareBar.markup([(PushText.kind(end.outcome), end.deliveries)], of: whole),
            advice: PushText.isFinal(end.outcome) && end.outcome != "accepted" ? advice ?? end.advice : nil,
            href: visit.address(["outcome": end.outcome, "reason": end.reason]) + "#live-deliveries"
        )
    }
}

/// The number of devices of one target.
struct AudienceLine: ViewContext {
    let app: String
    let provider: String
    let environment: String
    let devices: String
    let accepted: String
    let failed: String
    let bar: Markup
}

extension AudienceLine {
    /// Shows the deliveries to one target.
    ///
    /// - Parameters:
    ///   - target: the target.
    ///   - ends: the count of each outcome.
    init(_ target: EventTally.Target, _ ends: [String: Int64]) {
        let whole = ends.values.reduce(0, +)
        let parts = Dictionary(grouping: ends) { PushText.kind($0.key) }.mapValues { $0.reduce(0) { $0 + $1.value } }
        let kinds: [ChartKind] = [.accepted, .retrying, .gone, .rejected, .own]
        self.init(
            app: target.app,
            provider: target.provider,
            environment: target.environment,
            devices: FigureText.count(whole),
            accepted: FigureText.count(parts[.accepted] ?? 0),
            failed: FigureText.count((parts[.gone] ?? 0) + (parts[.rejected] ?? 0)),
            bar: ShareBar.markup(kinds.map { ($0, parts[$0] ?? 0) }, of: whole)
        )
    }
}

/// One rule's verdict on an event.
struct EventRuleLine: ViewContext {
    let name: String
    /// The page of the rule or campaign; nil for a message that was sent without a rule.
    let link: PageLink?
    let badge: Badge
    /// The rule's version, the conditions that hold, and the one that does not.
    let words: String
    let devices: String
}

extension EventRuleLine {
    /// Shows a rule's verdict on an event.
    ///
    /// - Parameters:
    ///   - row: the verdict.
    ///   - rules: the number of pushes per rule.
    init?(_ row: WhyRow, _ rules: [String: Int64]) {
        guard let rule = row.rule, let slash = rule.firstIndex(of: "/") else { return nil }
        let (app, name) = (String(rule[..<slash]), String(rule[rule.index(after: slash)...]))
        guard name != "(send)" else {
            let pushes = rules.first { $0.key.hasPrefix("\(app)/send/") }?.value
            self.init("Message without a rule", nil, row, pushes)
            return
        }
        // The rule of a campaign is named `campaign/…` and has no page of its own.
        let campaign = name.hasPrefix("campaign/") ? String(name.dropFirst("campaign/".count)) : nil
        let href = PageAddress.path([campaign == nil ? "rules" : "campaigns", app, campaign ?? name])
        self.init(rule, PageLink(name: rule, href: href), row, rules[rule])
    }

    private init(_ name: String, _ link: PageLink?, _ row: WhyRow, _ pushes: Int64?) {
        self.init(
            name: name,
            link: link,
            badge: PushText.badge(row.outcome),
            words: row.detail ?? row.reason ?? "",
            devices: pushes.map { FigureText.counted($0, "push", "pushes") } ?? "–"
        )
    }
}

extension FoundEvent {
    /// Whether the event has no plan and will get none.
    var isOver: Bool { ["duplicate", "cancelled", "expired", "unmatched"].contains(fate) }

    /// Describes what became of the event, in a sentence.
    ///
    /// - Parameters:
    ///   - tally: the outcomes of its pushes.
    ///   - isAll: whether all of them are counted.
    ///   - run: the campaign run that the event is; nil for other events.
    /// - Returns: the sentence.
    func verdict(_ tally: EventTally, isAll: Bool, _ run: EventRunRow?) -> String {
        let more = detail.map { ": \($0)" } ?? ""
        let aborted = run.flatMap { run in
            run.isAborted ? "The campaign was aborted\(run.abortedBy.map { " by \($0)" } ?? "")" : nil
        }
        switch fate {
        case "cancelled" where aborted != nil: return "\(aborted ?? "") before it was planned."
        case "waiting": return "Not planned yet\(more.isEmpty ? ": a daemon plans it within a second" : more)."
        case "duplicate": return "Not sent again: an earlier event had the same type and key."
        case "unmatched": return "No rule matched\(more). See each rule of its type below."
        case "cancelled": return "Cancelled before it was planned. Replay it if it should be sent after all."
        case "expired": return "Its ttl had passed when it was planned\(more)."
        case "refused" where tally.deliveries == 0: return "Refused\(more)."
        default: break
        }
        guard tally.deliveries > 0 else {
            guard isAll else { return "Planned. This part of the count has no pushes; all were counted before." }
            return "The event was planned and reached no device. To see why, enter a user below."
        }
        let parts = [
            (tally.accepted, "accepted"), (tally.open, "pending"), (tally.failed, "failed"),
            (tally.kept, "not sent"),
        ]
        let told = parts.filter { $0.0 > 0 }.map { "\(FigureText.count($0.0)) \($0.1)" }.joined(separator: ", ")
        return
            "\(aborted.map { "\($0). " } ?? "")\(isAll ? "" : "Partial count: ")\(FigureText.counted(tally.deliveries, "push", "pushes")): \(told)\(more)."
    }

    /// Returns the event's badge; for a planned event, whether all its pushes have ended.
    ///
    /// - Parameters:
    ///   - tally: the outcomes of its pushes.
    ///   - run: the campaign run that the event is; nil for other events.
    /// - Returns: the badge.
    func badge(_ tally: EventTally, _ run: EventRunRow?) -> Badge {
        if let run, run.isAborted { return Badge(.warn, run.state) }
        guard fate == "planned", tally.deliveries > 0 else { return PushText.badge(fate: fate) }
        return tally.open > 0 ? Badge(.busy, "sending") : Badge(.good, "done")
    }
}
