internal import FanfareCore
package import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// The number of runs of a campaign whose reports are shown.
    package static let runsOfReports: Int32 = 10

    /// Counts what devices reported of an event.
    ///
    /// - Parameter id: the event's id, or that of its scheduled row.
    /// - Returns: a row for each rule and variant; empty if no rule has reports.
    /// - Throws: ``ToolError``, also if there is no such event.
    package func funnel(ofEvent id: Int64) async throws(ToolError) -> [ReportFunnelRow] {
        let event = try await eventID(of: id)
        let found = try await rows(of: SQL.eventFunnel(event))
        // Counts outlive the log.
        if found.isEmpty { _ = try await self.event(id) }
        return found
    }

    /// Counts what devices reported of a campaign's run.
    ///
    /// - Parameter event: the run's event; nil if it has none yet.
    /// - Returns: a row for each variant; empty without reports.
    /// - Throws: ``ToolError``.
    package func reports(ofRun event: Int64?) async throws(ToolError) -> [ReportFunnelRow] {
        guard let event else { return [] }
        return try await rows(of: SQL.eventFunnel(event))
    }

    /// Counts what devices reported of a rule's pushes.
    ///
    /// - Parameters:
    ///   - rule: the rule's name.
    ///   - app: its app.
    ///   - days: the number of days, today included.
    /// - Returns: a row for each day with reports and each variant, the newest day first.
    /// - Throws: ``ToolError``, also if there is no such rule.
    package func funnel(ofRule rule: String, app: String, days: Int32) async throws(ToolError) -> [ReportFunnelRow] {
        let found = try await rows(of: SQL.ruleFunnel(app, rule, days))
        if found.isEmpty {
            let isThere = try await rows(of: SQL.storedRules([app])).contains { $0.name == rule }
            guard isThere else {
                throw ToolError(
                    .failed,
                    "app \(app.printable) has no rule \(rule.printable)",
                    hint: "`fanfare rules list` shows them. Messages without a rule are reported by event.",
                    isAbsence: true
                )
            }
        }
        return found
    }

    /// Counts what devices reported of the last runs of a campaign.
    ///
    /// - Parameters:
    ///   - campaign: the campaign's name.
    ///   - app: its app.
    ///   - limit: the number of runs.
    /// - Returns: a row for each run and variant, the newest run first.
    /// - Throws: ``ToolError``, also if there is no such campaign.
    package func funnel(
        ofCampaign campaign: String,
        app: String,
        limit: Int32 = runsOfReports
    ) async throws(ToolError) -> [ReportFunnelRow] {
        let found = try await rows(of: SQL.campaignFunnel(app, campaign, limit))
        if found.isEmpty {
            let isThere = try await !rows(of: SQL.storedCampaigns([app], campaign)).isEmpty
            guard isThere else { throw Self.noCampaign(app, campaign) }
        }
        return found
    }
}
