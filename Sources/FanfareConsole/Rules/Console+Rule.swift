internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareTools
internal import HTTPTypes
internal import PostgresClient

extension ConsolePage {
    /// The page of one rule: versions, outcomes, and a trial with an event.
    static let rule = ConsolePage("/rules/{app}/{name}", "rule") { visit in
        try await RulePage.load(visit, tried: nil)
    }
}

extension Console {
    /// Tries a rule with an event that is not emitted.
    ///
    /// The form is sent by POST, because the event may hold personal data; nothing is changed.
    static func ruleTrial(_ queries: ConsoleQueries) -> Route {
        Route.form("/rules/{app}/{name}") { call in
            let fields = try call.form()
            let visit = try await Visit(call, queries)
            try await visit.session.check(seal: fields["seal"] ?? "", of: call.path, call)
            return .page(templates.render(ConsolePage.rule.template, try await RulePage.load(visit, tried: fields)))
        }
    }
}

/// `/rules/{app}/{name}`: one rule.
struct RulePage: ViewContext {
    let frame: Frame
    let badge: Badge
    let facts: [Fact]
    /// The error in the newest version, and its position.
    let refusal: Notice?
    let outcomes: [OutcomeLine]
    /// The counts of reports by day; nil if there are none.
    let reports: ReportTable?
    let versions: [RuleVersionLine]
    /// The newest version, indented.
    let definition: String
    /// The difference from the version before: lines with their sign.
    let difference: [DifferenceLine]
    let explain: ExplainPanel
}

extension RulePage {
    /// Reads the page's data.
    ///
    /// - Parameters:
    ///   - visit: the request's visit; its address may name a version.
    ///   - fields: the fields of the form with the trial's event; nil without a trial.
    /// - Returns: the page.
    /// - Throws: a ``Problem`` if there is no such rule or version, and the database's error.
    static func load(_ visit: Visit, tried fields: [String: String]?) async throws -> RulePage {
        let id = RuleID(app: visit.call.name("app"), name: visit.call.name("name"))
        let version = visit.filter("version")
        let number = version.flatMap { Int32($0) }
        guard version == nil || number.map({ $0 > 0 && $0 < .max }) == true,
            let summary = try await visit.database.ruleSummary(id, version: number)
        else {
            throw Problem(
                .absent,
                "there is no such rule, or no such version",
                hint: "See Rules for the list."
            )
        }
        let definition = (try? JSONValue(parsing: summary.shown.definition)) ?? .null
        return RulePage(
            frame: visit.frame(id.name, parent: PageLink(name: "Rules", href: "/rules")),
            badge: Badge(summary.rule),
            facts: facts(summary, definition),
            refusal: refusal(summary),
            outcomes: outcomes(summary.outcomes),
            reports: ReportTable(
                try await visit.database.rows(of: SQL.ruleFunnel(id.app, id.name, ToolDatabase.daysOfRules)),
                column: "Day (UTC)",
                note: "A day has the pushes that were accepted on it, and the reports that came on it. "
            ),
            versions: summary.versions.map { RuleVersionLine($0, summary) },
            definition: definition.yaml,
            difference: summary.before.map { RuleDifference.lines(from: $0.definition, to: summary.shown.definition) }
                ?? [],
            explain: try await ExplainPanel.load(definition, version: summary.shown.version, visit, fields)
        )
    }

    private static func facts(_ summary: RuleSummary, _ definition: JSONValue) -> [Fact] {
        var facts = [
            Fact(name: "App", words: summary.rule.app), Fact(name: "Version", words: "\(summary.shown.version)"),
            Fact(
                name: "Event",
                link: PageLink(
                    name: definition["event"]?.stringValue ?? "–",
                    href: PageAddress("/events", ["type": definition["event"]?.stringValue ?? ""]).text
                )
            ),
            Fact(name: "Audience", words: AudienceText.words(definition)),
        ]
        if let when = definition["when"]?.stringValue { facts.append(Fact(name: "When", code: when)) }
        facts.append(Fact(name: "Lane", words: definition["lane"]?.stringValue ?? "normal"))
        for (key, name) in [("ttl", "Time to live"), ("collapse", "Collapse"), ("category", "Category")] {
            if let text = definition[key]?.stringValue {
                facts.append(Fact(name: name, words: key == "ttl" ? FigureText.span(text) : text))
            }
        }
        if summary.rule.isFromFile { facts.append(Fact(name: "From", words: "a file; edit it there and apply it")) }
        return facts
    }

    private static func refusal(_ summary: RuleSummary) -> Notice? {
        guard let reason = summary.shown.reason, summary.shown.state == "refused" else { return nil }
        let stays = summary.rule.versionInForce.map { " Version \($0) stays in force." } ?? " Nothing is in force."
        let isNewest = summary.shown.version == summary.rule.version
        return Notice(.bad, "Version \(summary.shown.version) is refused: \(reason).\(isNewest ? stays : "")")
    }

    /// Sums the outcomes of all versions and days.
    private static func outcomes(_ rows: [RuleOutcomesRow]) -> [OutcomeLine] {
        let counts = rows.map { (OutcomeKey(outcome: $0.outcome, reason: $0.reason), $0.deliveries) }
        return OutcomeLine.lines(Dictionary(counts) { $0 + $1 })
    }
}

extension Badge {
    /// Creates the badge of a rule: the version in force, and whether the newest is refused.
    ///
    /// - Parameter rule: its newest version.
    fileprivate init(_ rule: RuleRow) {
        switch (RuleFilter.state(rule), rule.versionInForce) {
        case ("refused", let version?): self.init(.warn, "version \(version) in force, \(rule.version) refused")
        case ("unchecked", let version?): self.init(.busy, "version \(version) in force, \(rule.version) unchecked")
        case ("active", let version?): self.init(.good, "version \(version) in force")
        case (let state, _): self.init(rule: state)
        }
    }
}

/// One version of a rule.
struct RuleVersionLine: ViewContext {
    let version: String
    let href: String
    let badge: Badge
    let reason: String?
    let made: Moment
    let retired: Moment?
    let isShown: Bool
}

extension RuleVersionLine {
    /// Shows a version.
    ///
    /// - Parameters:
    ///   - row: the version.
    ///   - summary: the rule.
    fileprivate init(_ row: RuleVersionsRow, _ summary: RuleSummary) {
        var state = row.state
        if row.retiredAt != nil && state == "active" { state = "retired" }
        if row.retiredAt == nil && state == "active" && !row.isEnabled { state = "disabled" }
        self.init(
            version: "\(row.version)",
            href: PageAddress(RuleLine.href(summary.rule.id), ["version": "\(row.version)"]).text,
            badge: Badge(rule: state),
            reason: row.reason,
            made: Moment(row.createdAt.microseconds, .short),
            retired: row.retiredAt.map { Moment($0.microseconds, .short) },
            isShown: row.version == summary.shown.version
        )
    }
}
