internal import FanfareCampaigns
internal import FanfareCore
internal import FanfareProviders
package import FanfareRecords
package import PostgresClient

extension ToolDatabase {
    /// The number of runs in a report.
    private static let runsShown: Int32 = 10

    /// Reports on one campaign.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    /// - Returns: its definition, due times and last runs.
    /// - Throws: ``ToolError``, also if there is no such campaign.
    public func campaign(app: String, name: String) async throws(ToolError) -> CampaignReport {
        let id = RuleID(app: app, name: name)
        let found = try await run { connection throws(PostgresError) -> CampaignReport? in
            guard let row = try connection.run(SQL.storedCampaigns([app], name)).first else { return nil }
            let runs = try connection.run(SQL.lastRuns(id.app, id.name, Self.runsShown))
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

    /// Follows the newest run of a campaign until it ends.
    ///
    /// - Parameters:
    ///   - app: the campaign's app.
    ///   - name: its name.
    ///   - clock: the clock for the polls, one a second.
    ///   - tell: receives the progress after each poll, the last one included; nil if the campaign never fired.
    /// - Throws: ``ToolError``, also if there is no such campaign, and errors of `tell`. `CancellationError` if the
    ///   task is cancelled between two polls.
    public func watchCampaign(
        app: String,
        name: String,
        clock: some Clock<Duration> = ContinuousClock(),
        tell: (CampaignProgress) async throws -> Void
    ) async throws {
        let id = RuleID(app: app, name: name)
        while true {
            let progress = try await run { connection throws(PostgresError) -> CampaignProgress? in
                try newest(connection.run(SQL.lastRuns(id.app, id.name, Self.runsShown)), on: connection)
            }
            guard let progress else { return }
            try await tell(progress)
            guard progress.run.isRunning else { return }
            try await clock.sleep(for: .seconds(1))
        }
    }

    package static func noCampaign(_ app: String, _ name: String) -> ToolError {
        ToolError(
            .failed,
            "app \(app.printable) has no campaign \(name.printable)",
            isAbsence: true,
            subject: .missingCampaign
        )
    }

    /// Returns the progress of the newest run that fired.
    package func newest(
        _ runs: [RunRow],
        on connection: PostgresConnection
    ) throws(PostgresError) -> CampaignProgress? {
        for row in runs where row.state != "skipped" && row.state != "failed" {
            guard let run = try connection.run(SQL.findCampaignRun(row.id)).first else { continue }
            return CampaignProgress(run: run, attempts: try connection.run(SQL.countAttempts(row.id)))
        }
        return nil
    }

    /// Returns the due times of the version in force; if there is none, of the newest version, which a daemon may still
    /// refuse.
    package func forecast(
        _ row: CampaignRow,
        count: Int32 = CampaignForecast.timesShown,
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

extension CampaignProgress {
    /// Reads the running runs, in the order in which they fired.
    package static func running(on connection: PostgresConnection) throws(PostgresError) -> [CampaignProgress] {
        var progress: [CampaignProgress] = []
        for run in try connection.run(SQL.runningCampaigns()) {
            let attempts = try connection.run(SQL.countAttempts(run.runID))
            progress.append(CampaignProgress(run: run, attempts: attempts))
        }
        return progress
    }
}
