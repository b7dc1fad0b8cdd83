internal import FanfareConsoleReads
internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareRecords
internal import FanfareTools
internal import PostgresClient

extension ConsolePage {
    /// The page of rules, refused ones first.
    static let rules = ConsolePage("/rules", "rules") { visit in
        let limit = 100
        let filter = RuleFilter(visit)
        let list = "console rules\n\(filter.key)"
        let first = Int(clamping: max(0, try await visit.place(in: list)?[0] ?? 0))
        let (rules, found, weeks) = try await visit.database.run { connection throws(PostgresError) in
            let rules = try connection.run(RuleSet.Kind.stored(nil)).filter(\.isListed)
            let found = filter.passing(rules).dropFirst(first).prefix(limit + 1)
            let days = ToolDatabase.daysOfRules
            return (rules, found, try connection.run(SQL.ruleWeeks(found.map(\.app), found.map(\.name), days)))
        }
        let shown = Array(found.prefix(limit))
        let week = Dictionary(weeks.map { (Int($0.position) - 1, $0) }) { $1 }
        return RuleListPage(
            frame: visit.frame("Rules"),
            filter: filter.form(rules, visit),
            rows: shown.enumerated().map { RuleLine($1, week[$0], now: visit.now) },
            pager: Pager(
                shown: FigureText.counted(Int64(shown.count), "rule"),
                first: first > 0 ? visit.address([:]) : nil,
                next: try await visit.address(of: found.count > limit ? [Int64(first + limit)] : nil, in: list)
            ),
            empty: shown.isEmpty ? .rules(hasAny: !rules.isEmpty) : nil
        )
    }
}

/// `/rules`: the list of rules, refused ones first.
struct RuleListPage: ViewContext {
    let frame: Frame
    let filter: FilterForm
    let rows: [RuleLine]
    let pager: Pager
    let empty: Empty?
}

/// The filter of the list of rules.
struct RuleFilter: Sendable {
    private static let states = ["refused", "unchecked", "active", "disabled"]

    private let app: String?
    private let state: String?
    private let event: String?

    init(_ visit: Visit) {
        (app, state, event) = (visit.filter("app"), visit.filter("state"), visit.filter("event"))
    }

    /// A text that differs if the filter differs.
    var key: String { [app, state, event].map { $0 ?? "" }.joined(separator: "\n") }

    /// Returns the rules that pass the filter, those that need attention first.
    ///
    /// - Parameter rules: all rules.
    /// - Returns: the rules in the order of the list.
    func passing(_ rules: [RuleRow]) -> [RuleRow] {
        let order = Dictionary(uniqueKeysWithValues: Self.states.enumerated().map { ($1, $0) })
        let passing = rules.filter { rule in
            (app == nil || rule.app == app) && (state == nil || Self.state(rule) == state)
                && (event.map { rule.event.contains($0) } ?? true)
        }
        return passing.map { (order[Self.state($0)] ?? 0, $0) }.sorted {
            ($0.0, $0.1.app, $0.1.name) < ($1.0, $1.1.app, $1.1.name)
        }.map(\.1)
    }

    /// Returns the form of the filter.
    ///
    /// - Parameters:
    ///   - rules: all rules, whose apps can be chosen.
    ///   - visit: the request's visit.
    /// - Returns: the form.
    func form(_ rules: [RuleRow], _ visit: Visit) -> FilterForm {
        FilterForm(
            visit,
            [
                .chosen("app", "App", Set(rules.map(\.app)).sorted(), visit),
                .chosen("state", "State", Self.states, visit), .typed("event", "Event type", visit),
            ]
        )
    }

    /// Returns the state of a rule in a word.
    static func state(_ rule: RuleRow) -> String {
        rule.state == "active" && rule.definition["enabled"]?.boolValue == false ? "disabled" : rule.state
    }
}

/// One rule in the list.
struct RuleLine: ViewContext {
    let name: String
    let app: String
    let href: String
    let event: String
    let audience: String
    let badge: Badge
    /// The reason why it was refused.
    let reason: String?
    let version: String
    let changed: Moment
    /// The accepted pushes of the last seven days.
    let accepted: String
    let spark: Markup
}

extension RuleLine {
    /// Shows a rule.
    ///
    /// - Parameters:
    ///   - rule: its newest version.
    ///   - week: the pushes of the last seven days that providers accepted; nil if unknown.
    ///   - now: the time, in microseconds since 1970.
    init(_ rule: RuleRow, _ week: RuleWeeksRow?, now: Int64) {
        self.init(
            name: rule.name,
            app: rule.app,
            href: Self.href(rule.id),
            event: rule.event,
            audience: AudienceText.words(rule.definition),
            badge: Badge(rule: RuleFilter.state(rule)),
            reason: rule.reason,
            version: "\(rule.version)",
            changed: Moment(week?.changedAt.microseconds ?? now, .short),
            accepted: FigureText.count(week?.accepted.reduce(0, +) ?? 0),
            spark: Sparkline.markup((week?.accepted ?? []).map { Double($0) }, .accepted)
        )
    }

    /// Returns the path of a rule's page.
    ///
    /// - Parameter id: the rule's id.
    /// - Returns: the path.
    static func href(_ id: RuleID) -> String {
        "/rules/\(PageAddress.encoded(id.app))/\(PageAddress.encoded(id.name))"
    }
}

extension Badge {
    /// Creates the badge of a rule version's state.
    ///
    /// - Parameter state: the state in the database, or `disabled`, or `retired`.
    init(rule state: String) {
        let tone: Tone =
            switch state {
            case "refused": .bad
            case "unchecked": .busy
            case "active": .good
            default: .quiet
            }
        self.init(tone, state)
    }
}

extension Empty {
    fileprivate static func rules(hasAny: Bool) -> Empty {
        hasAny
            ? Empty(title: "No rule matches", words: "Remove a filter to see more.")
            : Empty(
                title: "No rules yet",
                words: "Without a rule no event is delivered. Write one to a file and apply it:",
                command: "fanfare rules apply rules.yaml"
            )
    }
}
