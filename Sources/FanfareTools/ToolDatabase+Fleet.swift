package import FanfareCore
package import FanfareRecords
package import FanfareStore
package import PostgresClient

/// The devices, and the handling of those that providers reported unregistered.
package struct FleetFigures: Sendable {
    /// The approximate number of devices by target and state.
    package let counts: [SampleDevicesRow]
    /// The outcomes of the last days, by day.
    package let outcomes: [OutcomesOverTimeRow]
    package let fuses: [PruneFuseFigures]
    /// The meanings of the outcomes.
    package let meanings: [OutcomeMeaningsRow]
}

/// The prune fuse of one app and environment.
package struct PruneFuseFigures: Sendable {
    package let app: String
    package let environment: String
    /// The kind of evidence that blew the fuse; nil while it is closed.
    package let blownBy: PruneEvidence.Strength?
    /// The answers of all providers in ten minutes.
    package let counts: PruneCounts
}

extension PruneFuseFigures {
    /// Returns the fuses that are blown or have answers to judge by.
    fileprivate static func all(_ answers: [RecentAnswers.Row], _ fuses: [StoredFuse]) -> [PruneFuseFigures] {
        var counts: [FuseKey: PruneCounts] = [:]
        for row in answers { counts[row.source.key, default: PruneCounts()] += row.counts }
        let blown = Dictionary(fuses.compactMap { fuse in fuse.blownBy.map { (fuse.key, $0) } }) { $1 }
        return Set(counts.keys).union(blown.keys).map { key in
            PruneFuseFigures(
                app: key.app,
                environment: key.environment,
                blownBy: blown[key],
                counts: counts[key] ?? PruneCounts()
            )
        }.sorted { ($0.app, $0.environment) < ($1.app, $1.environment) }
    }
}

/// Some devices, and whether more follow.
package struct FoundDevices: Sendable {
    package let devices: [RegisteredDevice]
    /// Whether more devices may follow.
    package let isMore: Bool
    /// The id after which the search continues, if it stopped before it found as many as requested.
    package let stoppedAt: Int64?
}

extension ToolDatabase {
    /// Reads the figures about devices.
    ///
    /// - Parameters:
    ///   - since: the start of the series, in microseconds since 1970.
    ///   - stepSeconds: the length of a step.
    ///   - app: the app; nil for all.
    /// - Returns: the figures.
    /// - Throws: ``ToolError``.
    package func fleet(since: Int64, stepSeconds: Int32, app: String?) async throws(ToolError) -> FleetFigures {
        let since = Timestamp(microseconds: since)
        return try await run { connection throws(PostgresError) in
            let answers = try connection.run(RecentAnswers(apps: app.map { [$0] }))
            let fuses = try connection.run(SQL.storedFuses()).filter { app == nil || $0.key.app == app }
            return FleetFigures(
                counts: try connection.run(SQL.sampleDevices(app)),
                outcomes: try connection.run(SQL.outcomesOverTime(since, stepSeconds, app)),
                fuses: PruneFuseFigures.all(answers, fuses),
                meanings: try connection.run(SQL.outcomeMeanings())
            )
        }
    }

    /// Finds devices, the newest first, within a limited number of rows examined.
    ///
    /// - Parameters:
    ///   - filter: selects the devices; its user and topic are ignored.
    ///   - reason: the reason why they are disabled; nil for all.
    ///   - since: only devices disabled since this time; nil for all.
    /// - Returns: at most as many devices as the filter's limit.
    /// - Throws: ``ToolError``.
    package func findDevices(_ filter: DeviceFilter, reason: String?, since: Timestamp?) async throws(ToolError)
        -> FoundDevices
    {
        let statement = SQL.findDevices(
            filter.app,
            filter.provider,
            filter.isDisabled,
            reason,
            filter.before,
            filter.limit + 1,
            Int64(SearchBudget.devices),
            since
        )
        let rows = try await run { connection throws(PostgresError) in try connection.run(statement) }
        var devices: [RegisteredDevice] = []
        var stoppedAt: Int64?
        for row in rows {
            switch row {
            case .found(let device): devices.append(device)
            case .stopped(let stop): stoppedAt = stop.place
            }
        }
        let isMore = devices.count > filter.limit
        return FoundDevices(
            devices: Array(devices.prefix(Int(filter.limit))),
            isMore: isMore,
            stoppedAt: isMore ? nil : stoppedAt
        )
    }
}
