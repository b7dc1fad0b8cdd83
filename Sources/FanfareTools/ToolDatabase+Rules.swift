internal import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
public import FanfareStore
internal import PostgresClient

/// What became of rules that were applied.
public struct RulesApplied: Sendable {
    /// What was changed.
    public let plan: RulesPlan
    /// The rules of the files as they are stored now.
    public let rules: [RuleRow]
    /// Whether a daemon lives that checks new versions.
    public let hasDaemon: Bool

    /// Whether a daemon refused any of them.
    public var hasRefused: Bool { rules.contains { $0.state == "refused" } }

    /// All of it as JSON.
    public var json: JSONValue {
        ["plan": plan.json, "rules": .array(rules.map(\.json)), "daemon": .bool(hasDaemon)]
    }

    /// The changes and the state of each rule, for people.
    public var text: String {
        var lines = [plan.text, RuleRow.table(rules)]
        if rules.contains(where: { $0.state == "unchecked" }) {
            lines.append(
                hasDaemon
                    ? "unchecked: a daemon will check it; until then the version in force stays"
                    : "unchecked: no daemon runs; the next one that starts will check it"
            )
        }
        return lines.joined(separator: "\n")
    }
}

extension ToolDatabase {
    /// How long ``applyRules(_:prune:)`` waits for a daemon's verdict.
    private static let patience = Duration.seconds(5)

    /// Compares rules with what is stored; changes nothing.
    ///
    /// - Parameters:
    ///   - set: the rules.
    ///   - prune: whether rules that are gone from the files are to be dropped.
    /// - Returns: what applying would change.
    /// - Throws: ``ToolError``, with a line per rule that PostgreSQL finds fault with.
    public func planRules(_ set: RuleSet, prune: Bool) async throws(ToolError) -> RulesPlan {
        let (problems, plan) = try await run { connection throws(PostgresError) in
            try (probe(set, on: connection), makePlan(set, prune, on: connection))
        }
        guard problems.isEmpty else { throw RuleSet.refused(problems) }
        return plan
    }

    /// Stores rules, all of them or none, and waits a little for a daemon to check them.
    ///
    /// - Parameters:
    ///   - set: the rules.
    ///   - prune: whether rules of the same apps that came from files and are gone there are dropped.
    /// - Returns: what became of them.
    /// - Throws: ``ToolError``, with a line per rule that PostgreSQL finds fault with; nothing is changed then.
    public func applyRules(_ set: RuleSet, prune: Bool) async throws(ToolError) -> RulesApplied {
        let problems = try await run { connection throws(PostgresError) in try probe(set, on: connection) }
        guard problems.isEmpty else { throw RuleSet.refused(problems) }
        let plan = try await run { connection throws(PostgresError) in
            try connection.transaction { connection throws(PostgresError) in
                let plan = try makePlan(set, prune, on: connection)
                try carryOut(plan, set, on: connection)
                return plan
            }
        }
        return try await awaitVerdict(on: plan, set)
    }

    /// Lists rules.
    ///
    /// - Parameter app: of this app; nil for all.
    /// - Returns: each with its newest version.
    /// - Throws: ``ToolError``.
    public func rules(app: String?) async throws(ToolError) -> [RuleRow] {
        try await run { connection throws(PostgresError) in try connection.run(StoredRules(apps: app.map { [$0] })) }
    }

    /// Asks PostgreSQL what `put_rule` would say: whether it reads the jsonpaths, and the queries.
    private func probe(_ set: RuleSet, on connection: PostgresConnection) throws(PostgresError) -> [String] {
        let faults = try connection.run(RuleFaults(rules: set.entries.map(\.compiled.definition.json.text)))
        return zip(set.entries, faults).compactMap { entry, problem in
            problem.map { entry.source?.message(for: $0) ?? $0.description }
        }
    }

    private func makePlan(
        _ set: RuleSet,
        _ prune: Bool,
        on connection: PostgresConnection
    ) throws(PostgresError) -> RulesPlan {
        RulesPlan(
            set,
            stored: try connection.run(StoredRules(apps: set.apps)),
            prunes: prune,
            configuredApps: configuredApps
        )
    }

    private func carryOut(_ plan: RulesPlan, _ set: RuleSet, on connection: PostgresConnection) throws(PostgresError) {
        let changes = Dictionary(
            uniqueKeysWithValues: plan.items.map { (RuleID(app: $0.app, name: $0.name), $0.change) }
        )
        let changed = set.entries.filter { changes[$0.id] != .unchanged }
        try connection.run(PutRules(rules: changed.map(\.compiled.definition.json.text)))
        try connection.run(MarkRulesFromFile(ids: set.entries.map(\.id)))
        guard plan.prunes else { return }
        for item in plan.items where item.change == .dropped {
            try connection.run(DropRule(id: RuleID(app: item.app, name: item.name)))
        }
    }

    /// Waits for the daemon's verdict, with the session free in between.
    private func awaitVerdict(on plan: RulesPlan, _ set: RuleSet) async throws(ToolError) -> RulesApplied {
        let hasDaemon = try await run { connection throws(PostgresError) in
            try connection.run(IsDaemonAlive()).first ?? false
        }
        let wanted = Set(set.entries.map(\.id))
        let deadline = ContinuousClock.now + Self.patience
        while hasDaemon, ContinuousClock.now < deadline, try await isUnchecked(set) {
            // A task that is cancelled does not sleep, and the next look at the database says so.
            try? await Task.sleep(for: .milliseconds(100))
        }
        let rules = try await run { connection throws(PostgresError) in
            try connection.run(StoredRules(apps: set.apps)).filter { wanted.contains($0.id) }
        }
        return RulesApplied(plan: plan, rules: rules, hasDaemon: hasDaemon)
    }

    private func isUnchecked(_ set: RuleSet) async throws(ToolError) -> Bool {
        try await run { connection throws(PostgresError) in
            try connection.run(AreRulesUnchecked(apps: set.apps)).first == true
        }
    }
}
