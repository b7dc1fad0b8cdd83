internal import FanfareCampaigns
internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
public import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
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
        let trial = try await rows(of: SQL.findTrial(eventID)).first
        if let trial, trial.state == "failed" {
            throw ToolError(.failed, "its query failed: \((trial.detail ?? "no reason").printable)")
        }
        return eventID
    }

    /// Pauses, resumes, aborts or drops a campaign.
    ///
    /// - Parameters:
    ///   - change: the kind of change.
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - winner: to resume, the variant that ends an experiment; nil for none.
    /// - Returns: whether anything changed.
    /// - Throws: ``ToolError``, also if there is no such campaign, except for `drop`.
    public func change(
        _ change: CampaignChange,
        app: String,
        campaign name: String,
        winner: String? = nil
    ) async throws(ToolError) -> Bool {
        let id = RuleID(app: app, name: name)
        return try await self.change { connection throws(PostgresError) in
            try connection.change(change, of: id, winner: winner)
        } action: {
            $0 ? ToolAction("campaign.\(change)", "\(app)/\(name)") : nil
        }
    }
}
