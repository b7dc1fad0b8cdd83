internal import FanfareConfiguration
package import FanfareCore
package import PostgresClient

/// The result of applying definitions.
package struct FilesApplied<Definition: FileDefinition>: Sendable {
    /// The changes that were made.
    package let plan: FilesPlan
    /// The definitions of the files as stored now; empty if no daemon needs to check them.
    package let stored: [Definition.Row]
    /// Whether a live daemon checks new versions; nil if none needs to.
    package let hasDaemon: Bool?

    /// Whether a daemon refused any of them.
    package var hasRefused: Bool { stored.contains(where: \.isRefused) }

    /// The result as JSON.
    package var json: JSONValue {
        guard let hasDaemon else { return plan.json }
        return [
            "plan": plan.json, "\(Definition.kind.plural)": .array(stored.map(\.json)), "daemon": .bool(hasDaemon),
        ]
    }
}

extension ToolDatabase {
    /// Compares definitions with what is stored; changes nothing.
    ///
    /// - Parameters:
    ///   - set: the definitions.
    ///   - prune: whether definitions that are no longer in the files are dropped.
    ///   - now: the time to compare due times with; nil for the database's time.
    /// - Returns: the changes that applying would make.
    /// - Throws: ``ToolError``, with a line per definition that PostgreSQL refuses.
    package func plan<Definition>(
        _ set: DefinitionSet<Definition>,
        prune: Bool = false,
        at now: Timestamp? = nil
    ) async throws(ToolError) -> FilesPlan {
        var (forecasts, plan) = try await run { connection throws(PostgresError) in
            try (check(set, at: now, on: connection), makePlan(set, prune, on: connection))
        }
        plan.forecasts = try forecasts.get()
        return plan
    }

    /// Stores definitions, all of them or none, and waits briefly for a daemon if it has to check them.
    ///
    /// - Parameters:
    ///   - set: the definitions.
    ///   - prune: whether definitions of the same apps that came from files and are no longer in them are dropped.
    /// - Returns: the result.
    /// - Throws: ``ToolError``, with a line per definition that PostgreSQL refuses; nothing is changed then.
    package func apply<Definition>(
        _ set: DefinitionSet<Definition>,
        prune: Bool = false
    ) async throws(ToolError) -> FilesApplied<Definition> {
        let (apps, ids) = (set.apps, set.entries.map(\.id))
        let wanted = Set(ids)
        let forecasts = try await run { connection throws(PostgresError) in try check(set, at: nil, on: connection) }
        let checked = try forecasts.get()
        var plan = try await change { connection throws(PostgresError) in
            let plan = try makePlan(set, prune, on: connection)
            let changed = set.entries.map(\.definition).filter { plan.changed.contains($0.id) }
            try Definition.store(changed, marking: ids, dropping: plan.dropped, on: connection)
            return plan
        } action: {
            ToolAction("\(Definition.kind.plural).apply", apps.joined(separator: ", "), count: Int64($0.changed.count))
        }
        plan.forecasts = checked
        guard let unchecked = Definition.unchecked else {
            return FilesApplied(plan: plan, stored: [], hasDaemon: nil)
        }
        let hasDaemon = try await awaitVerdict { connection throws(PostgresError) in
            try connection.run(unchecked(apps)).first == true
        }
        let rows = try await rows(of: Definition.stored(apps)).filter { $0.isListed && wanted.contains($0.id) }
        return FilesApplied(plan: plan, stored: rows, hasDaemon: hasDaemon)
    }

    /// Lists the stored definitions of one kind.
    ///
    /// - Parameters:
    ///   - kind: the kind, as a set of it.
    ///   - app: the app; nil for all.
    /// - Returns: each definition in its newest version.
    /// - Throws: ``ToolError``.
    package func stored<Definition>(
        _ kind: DefinitionSet<Definition>.Type,
        app: String?
    ) async throws(ToolError) -> [Definition.Row] {
        try await rows(of: Definition.stored(app.map { [$0] })).filter(\.isListed)
    }

    /// Asks PostgreSQL what it would refuse, and when the definitions would be due.
    private func check<Definition>(
        _ set: DefinitionSet<Definition>,
        at now: Timestamp?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Result<[RuleID: CampaignForecast], ToolError> {
        let faults = try connection.run(Definition.faults(set.entries.map(\.definition.json.text)))
        let problems = zip(set.entries, faults).compactMap { entry, fault in fault.map(entry.message) }
        guard problems.isEmpty else { return .failure(DefinitionSet<Definition>.refused(problems)) }
        return try Definition.forecasts(set, at: now, on: connection)
    }

    private func makePlan<Definition>(
        _ set: DefinitionSet<Definition>,
        _ prune: Bool,
        on connection: PostgresConnection
    ) throws(PostgresError) -> FilesPlan {
        let stored = try connection.run(Definition.stored(set.apps)).filter(\.isListed)
        return FilesPlan(set, stored: stored, prunes: prune, configuredApps: configuredApps)
    }
}
