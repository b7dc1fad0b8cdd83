internal import FanfareCampaigns
package import FanfareCore
package import FanfareRecords
package import FanfareTools
package import PostgresClient

/// All campaigns: the running ones, and the due times of the others.
package struct CampaignListing: Sendable {
    package let campaigns: [CampaignRow]
    package let running: [CampaignProgress]
    /// The due times, in order.
    package let due: [CampaignDue]
}

/// A time at which a campaign is due.
package struct CampaignDue: Sendable {
    package let id: RuleID
    package let at: Timestamp
    /// The local time in the schedule's zone: `2026-11-30 09:00`.
    package let wall: String
    /// Whether the schedule goes by recipients' time; ``at`` is then the time of planning.
    package let isByRecipient: Bool
    /// Whether later times exist beyond the number requested.
    package let hasMore: Bool
}

/// One campaign with its running run and its former runs.
package struct CampaignSummary: Sendable {
    package let campaign: CampaignRow
    package let progress: CampaignProgress?
    package let history: [CampaignHistoryRow]
    /// The canary of ``progress``; nil if the run has none.
    package let canary: CanaryStandingRow?
    /// The waves of ``progress``; empty if all devices share one due time.
    package let waves: [CampaignWavesRow]
    package let due: [CampaignDue]
    /// The manual actions, the newest first.
    package let actionLog: [CampaignAction]
}

extension ToolDatabase {
    /// The number of due times on one page, of all campaigns together.
    private static let timesOfAll: Int32 = 1000
    /// The number of due times of one campaign.
    private static let timesOfEach: Int32 = 60

    /// Lists campaigns with their running runs and due times.
    ///
    /// - Returns: the listing.
    /// - Throws: ``ToolError``.
    package func campaignListing() async throws(ToolError) -> CampaignListing {
        try await run { connection throws(PostgresError) in
            let campaigns = try connection.run(SQL.storedCampaigns(nil, nil))
            let scheduled = campaigns.compactMap { row in
                row.state == "active" ? row.schedule.map { (row.id, $0) } : nil
            }
            let count = max(1, min(Self.timesOfEach, Self.timesOfAll / max(1, Int32(clamping: scheduled.count))))
            let times = try connection.run(CampaignTimes(scheduled.map(\.1.stored), count: count))
            let due = Dictionary(grouping: times, by: \.position).flatMap { position, times in
                let (id, schedule) = scheduled[Int(position) - 1]
                return CampaignDue.list(times, of: id, schedule, asked: count)
            }
            return CampaignListing(
                campaigns: campaigns,
                running: try CampaignProgress.running(on: connection),
                due: due.sorted { ($0.at, $0.id.name) < ($1.at, $1.id.name) }
            )
        }
    }

    /// Reads one campaign.
    ///
    /// - Parameters:
    ///   - id: the campaign's id.
    ///   - before: the run before which to list; nil for the newest.
    ///   - limit: the number of runs.
    ///   - isUpdate: whether to read only what changes: no waves and no due times.
    /// - Returns: the summary; nil if there is no such campaign.
    /// - Throws: ``ToolError``.
    package func campaignSummary(
        _ id: RuleID,
        before: Timestamp?,
        limit: Int64,
        isUpdate: Bool
    ) async throws(ToolError) -> CampaignSummary? {
        try await run { connection throws(PostgresError) in
            guard let row = try connection.run(SQL.storedCampaigns([id.app], id.name)).first else { return nil }
            let progress = try newest(connection.run(SQL.lastRuns(id.app, id.name, 10)), on: connection)
            let run = progress?.run.runID
            let canary = try run.map { id throws(PostgresError) in
                try connection.run(SQL.canaryStanding(id)).first
            }
            let waves = try (isUpdate ? nil : run).map { id throws(PostgresError) in
                try connection.run(SQL.campaignWaves(id))
            }
            let count: Int32 = 10
            let isDue = row.state == "active" && !isUpdate
            let times = try isDue ? forecast(row, count: count, on: connection).times : []
            return CampaignSummary(
                campaign: row,
                progress: progress,
                history: try connection.run(SQL.campaignHistory(id.app, id.name, before, limit)),
                canary: canary ?? nil,
                waves: waves ?? [],
                due: row.schedule.map { CampaignDue.list(times, of: id, $0, asked: count) } ?? [],
                actionLog: try connection.run(SQL.campaignActionLog("\(id.app)/\(id.name)", Int64(count)))
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
