internal import FanfareCampaigns
package import FanfareCore
package import FanfareStore
package import PostgresClient

/// All campaigns: those that run, and when the others are due.
package struct CampaignListing: Sendable {
    package let campaigns: [CampaignRow]
    package let running: [CampaignProgress]
    /// In the order of time.
    package let due: [CampaignDue]
}

/// A time at which a campaign is due.
package struct CampaignDue: Sendable {
    package let id: RuleID
    package let at: Timestamp
    /// What clocks show then that the schedule goes by: `2026-11-30 09:00`.
    package let wall: String
    /// Whether each recipient's clock is gone by; it is planned at ``at`` then.
    package let isByRecipient: Bool
    /// Whether it is the last that was asked for, and not the last that there is.
    package let hasMore: Bool
}

/// One campaign, what runs of it, and what became of it before.
package struct CampaignSummary: Sendable {
    package let campaign: CampaignRow
    package let progress: CampaignProgress?
    package let history: [CampaignHistory.Row]
    /// Of ``progress``; nil where all go at once.
    package let canary: CanaryStanding.Row?
    /// Of ``progress``; none where all have one time.
    package let waves: [CampaignWaves.Row]
    package let due: [CampaignDue]
    /// What was done by hand, the newest first.
    package let actionLog: [CampaignActionLog.Row]
}

extension ToolDatabase {
    /// So many times are asked for on one page, of all campaigns together.
    private static let timesOfAll: Int32 = 1000
    /// And so many of one.
    private static let timesOfEach: Int32 = 60

    /// Lists campaigns with what runs, and what comes.
    ///
    /// - Returns: all of them.
    /// - Throws: ``ToolError``.
    package func campaignListing() async throws(ToolError) -> CampaignListing {
        try await run { connection throws(PostgresError) in
            let campaigns = try connection.run(StoredCampaigns(apps: nil))
            let scheduled = campaigns.compactMap { row in
                row.state == "active" ? row.schedule.map { (row.id, $0) } : nil
            }
            let count = max(1, min(Self.timesOfEach, Self.timesOfAll / max(1, Int32(clamping: scheduled.count))))
            let times = try connection.run(CampaignTimes(scheduled.map(\.1.stored), count: count))
            let due = Dictionary(grouping: times, by: \.position).flatMap { position, times in
                let (id, schedule) = scheduled[Int(position) - 1]
                return CampaignDue.list(times, of: id, schedule, asked: count)
            }
            var running: [CampaignProgress] = []
            for run in try connection.run(RunningCampaigns()) {
                let attempts = try connection.run(CountAttempts(run: run.runID))
                running.append(CampaignProgress(run: run, attempts: attempts))
            }
            return CampaignListing(
                campaigns: campaigns,
                running: running,
                due: due.sorted { ($0.at, $0.id.name) < ($1.at, $1.id.name) }
            )
        }
    }

    /// Looks at one campaign.
    ///
    /// - Parameters:
    ///   - id: which.
    ///   - before: runs before this one only; nil for the newest.
    ///   - limit: how many runs.
    ///   - isUpdate: whether only what changes is looked at: no waves and no times.
    /// - Returns: all of it; nil if there is no such campaign.
    /// - Throws: ``ToolError``.
    package func campaignSummary(
        _ id: RuleID,
        before: Timestamp?,
        limit: Int64,
        isUpdate: Bool
    ) async throws(ToolError) -> CampaignSummary? {
        try await run { connection throws(PostgresError) in
            guard let row = try connection.run(StoredCampaigns(apps: [id.app], name: id.name)).first else { return nil }
            let progress = try newest(connection.run(LastRuns(of: id, limit: 10)), on: connection)
            let run = progress?.run.runID
            let canary = try run.map { id throws(PostgresError) in
                try connection.run(CanaryStanding(run: id)).first
            }
            let waves = try (isUpdate ? nil : run).map { id throws(PostgresError) in
                try connection.run(CampaignWaves(run: id))
            }
            let count: Int32 = 10
            let isDue = row.state == "active" && !isUpdate
            let times = try isDue ? forecast(row, count: count, on: connection).times : []
            return CampaignSummary(
                campaign: row,
                progress: progress,
                history: try connection.run(CampaignHistory(of: id, before: before, limit: limit)),
                canary: canary ?? nil,
                waves: waves ?? [],
                due: row.schedule.map { CampaignDue.list(times, of: id, $0, asked: count) } ?? [],
                actionLog: try connection.run(CampaignActionLog(of: "\(id.app)/\(id.name)", limit: Int64(count)))
            )
        }
    }
}

extension CampaignDue {
    fileprivate static func list(
        _ times: [CampaignTime],
        of id: RuleID,
        _ schedule: CampaignSchedule,
        asked count: Int32
    ) -> [CampaignDue] {
        times.enumerated().map { index, time in
            CampaignDue(
                id: id,
                at: time.at,
                wall: time.wall,
                isByRecipient: schedule.timeZone == CampaignSchedule.recipient,
                hasMore: index == times.count - 1 && times.count >= Int(count)
            )
        }
    }
}
