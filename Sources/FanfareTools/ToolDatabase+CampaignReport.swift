internal import FanfareCampaigns
internal import FanfareCore
internal import FanfareProviders
internal import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// How many runs are told of a campaign.
    private static let runsShown: Int32 = 10

    /// Tells of one campaign.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    /// - Returns: what it is, when it is due, what became of it.
    /// - Throws: ``ToolError``, also if there is no such campaign.
    public func campaign(app: String, name: String) async throws(ToolError) -> CampaignReport {
        let id = RuleID(app: app, name: name)
        let found = try await run { connection throws(PostgresError) -> CampaignReport? in
            guard let row = try connection.run(StoredCampaigns(apps: [app], name: name)).first else { return nil }
            let runs = try connection.run(LastRuns(of: id, limit: Self.runsShown))
            return CampaignReport(
                campaign: row,
                forecast: try forecast(row, on: connection),
                runs: runs,
                progress: try newest(runs, on: connection)
            )
        }
        guard let found else { throw Self.noCampaign(app, name) }
        return found
    }

    /// Follows the newest run of a campaign until it has ended.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - clock: by which a look at it comes every second.
    ///   - tell: gets how far it is after each look, the last one included; nothing where it never fired.
    /// - Throws: ``ToolError``, also if there is no such campaign, and what `tell` throws. `CancellationError` where the task
    ///   was cancelled in between.
    public func watchCampaign(
        app: String,
        name: String,
        clock: some Clock<Duration> = ContinuousClock(),
        tell: (CampaignProgress) async throws -> Void
    ) async throws {
        let id = RuleID(app: app, name: name)
        while true {
            let progress = try await run { connection throws(PostgresError) -> CampaignProgress? in
                try newest(connection.run(LastRuns(of: id, limit: Self.runsShown)), on: connection)
            }
            guard let progress else { return }
            try await tell(progress)
            guard progress.run.isRunning else { return }
            try await clock.sleep(for: .seconds(1))
        }
    }

    static func noCampaign(_ app: String, _ name: String) -> ToolError {
        ToolError(
            .failed,
            "app \(TextTable.printable(app)) has no campaign \(TextTable.printable(name))",
            hint: "See `fanfare campaigns list`.",
            isAbsence: true
        )
    }

    /// How far the newest is that was fired.
    func newest(
        _ runs: [RunRow],
        on connection: PostgresConnection
    ) throws(PostgresError) -> CampaignProgress? {
        for row in runs where row.state != "skipped" && row.state != "failed" {
            guard let run = try connection.run(FindCampaignRun(run: row.id)).first else { continue }
            return CampaignProgress(run: run, attempts: try connection.run(CountAttempts(run: row.id)))
        }
        return nil
    }

    /// By what is in force; while nothing is, by what was put, which a daemon may still refuse.
    func forecast(
        _ row: CampaignRow,
        count: Int32 = CampaignsPlan.timesShown,
        on connection: PostgresConnection
    ) throws(PostgresError) -> CampaignForecast {
        let definition = try? CampaignDefinition(json: row.inForce ?? row.newest)
        guard let schedule = definition?.schedule else { return CampaignForecast(timeZone: nil, times: []) }
        guard row.reason == nil || row.inForce != nil else {
            return CampaignForecast(timeZone: schedule.timeZone, times: [])
        }
        let times = try connection.run(CampaignTimes([schedule.stored], count: count))
        return CampaignForecast(timeZone: schedule.timeZone, times: times)
    }
}
