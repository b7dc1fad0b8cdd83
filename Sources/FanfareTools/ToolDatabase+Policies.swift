internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
public import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Compares policies with what is stored; changes nothing.
    ///
    /// - Parameter set: the policies.
    /// - Returns: the changes that applying would make.
    /// - Throws: ``ToolError``, with a line per invalid policy.
    public func planPolicies(_ set: PolicySet) async throws(ToolError) -> PoliciesPlan {
        try await check(set)
        return try await run { connection throws(PostgresError) in try makePlan(set, on: connection) }
    }

    /// Stores policies, all of them or none; they take effect when the transaction commits.
    ///
    /// - Parameter set: the policies.
    /// - Returns: the changes.
    /// - Throws: ``ToolError``, with a line per invalid policy; nothing is changed then.
    public func applyPolicies(_ set: PolicySet) async throws(ToolError) -> PoliciesPlan {
        try await check(set)
        return try await change { connection throws(PostgresError) in
            let plan = try makePlan(set, on: connection)
            let changed = set.entries.filter { plan.changed.contains($0.app) }
            try connection.run(SQL.putPolicies(changed.map(\.app), changed.map(\.policy.text)))
            return plan
        } action: {
            ToolAction("policies.apply", set.entries.map(\.app).joined(separator: ", "), count: Int64($0.changed.count))
        }
    }

    /// Lists policies.
    ///
    /// - Parameter app: the app; nil for all.
    /// - Returns: the stored policies.
    /// - Throws: ``ToolError``.
    public func policies(app: String?) async throws(ToolError) -> [PolicyRow] {
        try await run { connection throws(PostgresError) in
            try connection.run(SQL.storedPolicies(app.map { [$0] }))
        }
    }

    private func check(_ set: PolicySet) async throws(ToolError) {
        let faults = try await run { connection throws(PostgresError) in
            try connection.run(SQL.policyErrors(set.entries.map(\.policy.text)))
        }
        let problems = zip(set.entries, faults).compactMap { entry, fault in fault.map { entry.source.message(for: $0) }
        }
        guard problems.isEmpty else { throw FileEntries.refused(problems) }
    }

    private func makePlan(_ set: PolicySet, on connection: PostgresConnection) throws(PostgresError) -> PoliciesPlan {
        PoliciesPlan(
            set.entries.map { ($0.app, $0.policy) },
            stored: try connection.run(SQL.storedPolicies(set.entries.map(\.app))),
            configuredApps: configuredApps
        )
    }
}
