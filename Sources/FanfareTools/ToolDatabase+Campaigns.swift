internal import FanfareCampaigns
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
public import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Compares campaigns with what is stored; changes nothing.
    ///
    /// - Parameters:
    ///   - set: the campaigns.
    ///   - prune: whether campaigns that are no longer in the files are dropped.
    /// - Returns: the changes, and when each campaign would be due.
    /// - Throws: ``ToolError``, with a line per campaign that PostgreSQL refuses.
    public func planCampaigns(_ set: CampaignSet, prune: Bool) async throws(ToolError) -> CampaignsPlan {
        try await planCampaigns(set, prune: prune, at: nil)
    }

    /// Compares campaigns at a given time, with which due times are compared; nil for the database's time.
    func planCampaigns(_ set: CampaignSet, prune: Bool, at now: Timestamp?) async throws(ToolError) -> CampaignsPlan {
        let (probe, plan) = try await run { connection throws(PostgresError) in
            try (CampaignProbe(set, at: now, on: connection), makePlan(set, prune, on: connection))
        }
        return CampaignsPlan(changes: plan, forecasts: try probe.forecasts.get())
    }

    /// Stores campaigns, all of them or none, and waits briefly for a daemon to check them.
    ///
    /// - Parameters:
    ///   - set: the campaigns.
    ///   - prune: whether campaigns of the same apps that came from files and are no longer in them are dropped.
    /// - Returns: the result.
    /// - Throws: ``ToolError``, with a line per campaign that PostgreSQL refuses; nothing is changed then.
    public func applyCampaigns(_ set: CampaignSet, prune: Bool) async throws(ToolError) -> CampaignsApplied {
        let probe = try await run { connection throws(PostgresError) in try CampaignProbe(set, at: nil, on: connection)
        }
        let forecasts = try probe.forecasts.get()
        let changes = try await change { connection throws(PostgresError) in
            let plan = try makePlan(set, prune, on: connection)
            try carryOut(plan, set, on: connection)
            return plan
        } action: {
            ToolAction("campaigns.apply", set.apps.joined(separator: ", "), count: Int64($0.changed.count))
        }
        let apps = set.apps
        let hasDaemon = try await awaitVerdict { connection throws(PostgresError) in
            try connection.run(SQL.areCampaignsUnchecked(apps)).first == true
        }
        let wanted = Set(set.entries.map(\.id))
        let campaigns = try await run { connection throws(PostgresError) in
            try connection.run(SQL.storedCampaigns(apps, nil)).filter { wanted.contains($0.id) }
        }
        let plan = CampaignsPlan(changes: changes, forecasts: forecasts)
        return CampaignsApplied(plan: plan, campaigns: campaigns, hasDaemon: hasDaemon)
    }

    /// Lists campaigns.
    ///
    /// - Parameter app: the app; nil for all.
    /// - Returns: each campaign with its newest version and its last run.
    /// - Throws: ``ToolError``.
    public func campaigns(app: String?) async throws(ToolError) -> [CampaignRow] {
        try await run { connection throws(PostgresError) in
            try connection.run(SQL.storedCampaigns(app.map { [$0] }, nil))
        }
    }

    /// Sends the push of a campaign to some users only, at once.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - users: the users; at least one.
    /// - Returns: the event's id.
    /// - Throws: ``ToolError``, also if the campaign is not checked yet, and if its query fails in the time that the
    ///   call waits.
    public func testCampaign(app: String, name: String, users: [String]) async throws(ToolError) -> Int64 {
        let statement = SQL.testCampaign(RuleID(app: app, name: name).app, RuleID(app: app, name: name).name, users)
        let eventID = try await change { connection throws(PostgresError) in
            try connection.run(statement).first
        } action: { _ in
            ToolAction("campaign.test", "\(app)/\(name)", count: Int64(users.count))
        }
        guard let eventID else { throw ToolError(.failed, "the database gave no event id") }
        // If the campaign has a query, it runs first; after the wait, its result is found in fanfare.runs.
        _ = try await awaitVerdict { connection throws(PostgresError) in
            try connection.run(SQL.findTrial(eventID)).first?.state == "querying"
        }
        let trial = try await run { connection throws(PostgresError) in
            try connection.run(SQL.findTrial(eventID)).first
        }
        if let trial, trial.state == "failed" {
            throw ToolError(.failed, "its query failed: \(TextTable.printable(trial.detail ?? "no reason"))")
        }
        return eventID
    }

    /// Pauses, resumes, aborts or drops a campaign.
    ///
    /// - Parameters:
    ///   - change: the kind of change.
    ///   - app: the campaign's app.
    ///   - name: its name.
    /// - Returns: whether anything changed.
    /// - Throws: ``ToolError``, also if there is no such campaign, except for `drop`.
    public func change(_ change: CampaignChange, app: String, campaign name: String) async throws(ToolError) -> Bool {
        let id = RuleID(app: app, name: name)
        return try await self.change { connection throws(PostgresError) in
            try connection.change(change, of: id)
        } action: {
            $0 ? ToolAction("campaign.\(change)", "\(app)/\(name)") : nil
        }
    }

    private func makePlan(
        _ set: CampaignSet,
        _ prune: Bool,
        on connection: PostgresConnection
    ) throws(PostgresError) -> FilesPlan {
        let stored = try connection.run(SQL.storedCampaigns(set.apps, nil))
        return FilesPlan(
            .campaign,
            set.entries.map { ($0.id, $0.definition.json) },
            stored: stored.map { .init(id: $0.id, canonical: $0.canonical, isFromFile: $0.isFromFile) },
            prunes: prune,
            configuredApps: configuredApps
        )
    }

    private func carryOut(
        _ plan: FilesPlan,
        _ set: CampaignSet,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let changed = plan.changed
        let campaigns = set.entries.filter { changed.contains($0.id) }
        try connection.run(SQL.putCampaigns(campaigns.map(\.definition.json.text)))
        try connection.run(
            SQL.markCampaignsFromFile(set.entries.map(\.id).map(\.app), set.entries.map(\.id).map(\.name))
        )
        for id in plan.dropped { _ = try connection.change(.drop, of: id) }
    }
}
