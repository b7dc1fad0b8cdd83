package import FanfareCampaigns
internal import FanfareConfiguration
package import FanfareCore
internal import FanfareProviders
package import FanfareRecords
package import PostgresClient

extension CampaignDefinition {
    package static func forecasts(
        _ set: CampaignSet,
        at now: Timestamp?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Result<[RuleID: CampaignForecast], ToolError> {
        let scheduled = set.entries.filter { $0.definition.schedule != nil }
        let schedules = scheduled.compactMap { $0.definition.schedule?.stored }
        let times = Dictionary(
            grouping: try connection.run(CampaignTimes(schedules, count: CampaignForecast.timesShown)),
            by: \.position
        )
        var found = Dictionary(set.entries.map { ($0.id, CampaignForecast(timeZone: nil, times: [])) }) { $1 }
        var never: [String] = []
        for (index, entry) in scheduled.enumerated() {
            let times = times[Int64(index + 1)] ?? []
            if times.isEmpty, entry.definition.schedule?.expression != nil {
                let problem = RuleProblem(path: "schedule.cron", reason: "is not due within 8 years")
                never.append(entry.message(for: problem))
            }
            found[entry.id] = CampaignForecast(timeZone: schedules[index].timeZone, times: times)
        }
        guard never.isEmpty else { return .failure(CampaignSet.refused(never)) }
        try addLateStarts(to: &found, scheduled, set.apps, at: now, on: connection)
        return .success(found)
    }

    /// Adds, for schedules by recipients' time, the zones whose planning time has already passed.
    private static func addLateStarts(
        to forecasts: inout [RuleID: CampaignForecast],
        _ entries: [CampaignSet.Entry],
        _ apps: [String],
        at now: Timestamp?,
        on connection: PostgresConnection
    ) throws(PostgresError) {
        let timed = entries.filter(\.definition.isByRecipientTime)
        guard !timed.isEmpty else { return }
        let rows = try connection.run(SQL.storedCampaigns(apps, nil))
        let stored = Dictionary(rows.map { ($0.id, $0) }) { first, _ in first }
        for entry in timed {
            let chosen = ChosenCampaign(definition: entry.definition, source: nil, stored: stored[entry.id])
            let next = try NextRun.Row(chosen, at: now, on: connection)
            guard let at = next.at, let wall = next.wall?.prefix(16), at <= next.askedAt else { continue }
            forecasts[entry.id]?.times.removeAll { $0.at <= at }
            forecasts[entry.id]?.times.insert(CampaignTime(position: 0, at: at, wall: String(wall)), at: 0)
            forecasts[entry.id]?.late = try lateStart(of: entry.definition, next, on: connection)
        }
    }

    private static func lateStart(
        of campaign: CampaignDefinition,
        _ run: NextRun.Row,
        on connection: PostgresConnection
    ) throws(PostgresError) -> LateStart {
        let reader = AudienceReader(connection: connection, campaign: campaign, able: [])
        do {
            switch try reader.audience(of: run, payload: JSONObject(), reader.policy()) {
            case .counted(let counts):
                return .counted(PassedZones(counts.zones, from: run.firesAt, ttl: campaign.timeToLive))
            case .kept(let provider): return .unknown("\(provider.rawValue) manages the audience")
            case .asked(let reason), .problem(let reason): return .unknown(reason)
            }
        } catch {
            // A role that may put campaigns may lack the right to read devices.
            guard error.sqlState == "42501" else { throw error }
            return .unknown("\(error.message); the role fanfare_reader may count")
        }
    }
}

extension CampaignSchedule {
    /// The schedule as a parameter of the query for due times.
    package var stored: CampaignTimes.Schedule {
        let fields = expression.map { String(decoding: $0.json.encoded, as: UTF8.self) }
        var wall: String?
        if case .once(let text) = times { wall = text }
        return CampaignTimes.Schedule(cronFields: fields, wall: wall, timeZone: timeZone)
    }
}
