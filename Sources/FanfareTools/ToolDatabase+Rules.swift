internal import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
public import FanfareRecords
internal import PostgresClient

/// The result of applying rules.
public struct RulesApplied: Sendable {
    /// The changes that were made.
    public let plan: FilesPlan
    /// The rules of the files as stored now.
    public let rules: [RuleRow]
    /// Whether a live daemon checks new versions.
    public let hasDaemon: Bool

    /// Whether a daemon refused any of the rules.
    public var hasRefused: Bool { rules.contains { $0.state == "refused" } }

    /// The result as JSON.
    public var json: JSONValue {
        ["plan": plan.json, "rules": .array(rules.map(\.json)), "daemon": .bool(hasDaemon)]
    }

    /// The changes and the state of each rule, as text for people.
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
    ///   - prune: whether rules that are no longer in the files are dropped.
    /// - Returns: the changes that applying would make.
    /// - Throws: ``ToolError``, with a line per rule that PostgreSQL refuses.
    public func planRules(_ set: RuleSet, prune: Bool) async throws(ToolError) -> FilesPlan {
        let (problems, plan) = try await run { connection throws(PostgresError) in
            try (probe(set, on: connection), makePlan(set, prune, on: connection))
        }
        guard problems.isEmpty else { throw FileEntries.refused(problems) }
        return plan
    }

    /// Stores rules, all of them or none, and waits briefly for a daemon to check them.
    ///
    /// - Parameters:
    ///   - set: the rules.
    ///   - prune: whether rules of the same apps that came from files and are no longer in them are dropped.
    /// - Returns: the result.
    /// - Throws: ``ToolError``, with a line per rule that PostgreSQL refuses; nothing is changed then.
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
    /// - Parameter app: the app; nil for all.
    /// - Returns: each rule with its newest version.
    /// - Throws: ``ToolError``.
    public func rules(app: String?) async throws(ToolError) -> [RuleRow] {
        try await run { connection throws(PostgresError) in try stored(app.map { [$0] }, on: connection) }
    }

    /// Returns the stored rules except those of campaigns.
    private func stored(_ apps: [String]?, on connection: PostgresConnection) throws(PostgresError) -> [RuleRow] {
        try connection.run(SQL.storedRules(apps)).filter { !RuleNames.isOfCampaign($0.name) }
    }

    /// Checks in PostgreSQL what `put_rule` checks: the jsonpaths and the queries.
    private func probe(_ set: RuleSet, on connection: PostgresConnection) throws(PostgresError) -> [String] {
        let faults = try connection.run(SQL.ruleErrors(set.entries.map(\.compiled.definition.json.text)))
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
        try connection.run(SQL.putRules(rules.map(\.compiled.definition.json.text)))
        try connection.run(SQL.markRulesFromFile(set.entries.map(\.id).map(\.app), set.entries.map(\.id).map(\.name)))
        for id in plan.dropped { try connection.run(SQL.dropRule(id.app, id.name)) }
    }

    private func awaitVerdict(on plan: FilesPlan, _ set: RuleSet) async throws(ToolError) -> RulesApplied {
        let apps = set.apps
        let hasDaemon = try await awaitVerdict { connection throws(PostgresError) in
            try connection.run(SQL.areRulesUnchecked(apps)).first == true
        }
        let wanted = Set(set.entries.map(\.id))
        let rules = try await run { connection throws(PostgresError) in
            try stored(apps, on: connection).filter { wanted.contains($0.id) }
        }
        return RulesApplied(plan: plan, rules: rules, hasDaemon: hasDaemon)
    }
}

extension FilesPlan {
    /// Compares the rules of files with the stored ones.
    ///
    /// - Parameters:
    ///   - set: the rules of the files.
    ///   - stored: the stored rules.
    ///   - prunes: whether rules that are no longer in the files are dropped.
    ///   - configuredApps: the apps of the configuration; if it has none, there are no warnings about apps.
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
