internal import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
public import FanfareStore
internal import PostgresClient

/// What became of rules that were applied.
public struct RulesApplied: Sendable {
    /// What was changed.
    public let plan: FilesPlan
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
    /// Compares rules with what is stored; changes nothing.
    ///
    /// - Parameters:
    ///   - set: the rules.
    ///   - prune: whether rules that are gone from the files are to be dropped.
    /// - Returns: what applying would change.
    /// - Throws: ``ToolError``, with a line per rule that PostgreSQL finds fault with.
    public func planRules(_ set: RuleSet, prune: Bool) async throws(ToolError) -> FilesPlan {
        let (problems, plan) = try await run { connection throws(PostgresError) in
            try (probe(set, on: connection), makePlan(set, prune, on: connection))
        }
        guard problems.isEmpty else { throw FileEntries.refused(problems) }
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
        guard problems.isEmpty else { throw FileEntries.refused(problems) }
        let plan = try await change { connection throws(PostgresError) in
            let plan = try makePlan(set, prune, on: connection)
            try carryOut(plan, set, on: connection)
            return plan
        } action: {
            ToolAction("rules.apply", set.apps.joined(separator: ", "), count: Int64($0.changed.count))
        }
        return try await awaitVerdict(on: plan, set)
    }

    /// Lists rules.
    ///
    /// - Parameter app: of this app; nil for all.
    /// - Returns: each with its newest version.
    /// - Throws: ``ToolError``.
    public func rules(app: String?) async throws(ToolError) -> [RuleRow] {
        try await run { connection throws(PostgresError) in try stored(app.map { [$0] }, on: connection) }
    }

    /// Those that people put; what campaigns became belongs to these.
    private func stored(_ apps: [String]?, on connection: PostgresConnection) throws(PostgresError) -> [RuleRow] {
        try connection.run(StoredRules(apps: apps)).filter { !RuleNames.isOfCampaign($0.name) }
    }

    /// Asks PostgreSQL what `put_rule` would say: whether it reads the jsonpaths, and the queries.
    private func probe(_ set: RuleSet, on connection: PostgresConnection) throws(PostgresError) -> [String] {
        let faults = try connection.run(RuleErrors(rules: set.entries.map(\.compiled.definition.json.text)))
        return zip(set.entries, faults).compactMap { entry, problem in
            problem.map { entry.source?.message(for: $0) ?? $0.description }
        }
    }

    private func makePlan(
        _ set: RuleSet,
        _ prune: Bool,
        on connection: PostgresConnection
    ) throws(PostgresError) -> FilesPlan {
        FilesPlan(set, stored: try stored(set.apps, on: connection), prunes: prune, configuredApps: configuredApps)
    }

    private func carryOut(_ plan: FilesPlan, _ set: RuleSet, on connection: PostgresConnection) throws(PostgresError) {
        let changed = plan.changed
        let rules = set.entries.filter { changed.contains($0.id) }
        try connection.run(PutRules(rules: rules.map(\.compiled.definition.json.text)))
        try connection.run(MarkRulesFromFile(ids: set.entries.map(\.id)))
        for id in plan.dropped { try connection.run(DropRule(id: id)) }
    }

    private func awaitVerdict(on plan: FilesPlan, _ set: RuleSet) async throws(ToolError) -> RulesApplied {
        let apps = set.apps
        let hasDaemon = try await awaitVerdict { connection throws(PostgresError) in
            try connection.run(AreRulesUnchecked(apps: apps)).first == true
        }
        let wanted = Set(set.entries.map(\.id))
        let rules = try await run { connection throws(PostgresError) in
            try stored(apps, on: connection).filter { wanted.contains($0.id) }
        }
        return RulesApplied(plan: plan, rules: rules, hasDaemon: hasDaemon)
    }
}

extension FilesPlan {
    /// Compares rules.
    ///
    /// - Parameters:
    ///   - set: what the files say.
    ///   - stored: what there is.
    ///   - prunes: whether rules that are gone from the files are dropped.
    ///   - configuredApps: the apps that the configuration has; nothing is said of apps where it has none.
    init(_ set: RuleSet, stored: [RuleRow], prunes: Bool, configuredApps: Set<String> = []) {
        self.init(
            .rule,
            set.entries.map { ($0.id, $0.compiled.definition.json) },
            stored: stored.map { Stored(id: $0.id, canonical: $0.canonical, isFromFile: $0.isFromFile) },
            prunes: prunes,
            configuredApps: configuredApps
        )
    }
}
