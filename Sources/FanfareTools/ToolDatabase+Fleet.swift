package import FanfareCore
package import FanfareStore
package import PostgresClient

/// What devices there are, and how it stands with those that providers reported unregistered.
package struct FleetFigures: Sendable {
    /// By target and state, about.
    package let counts: [SampleDevices.Row]
    /// Outcomes by day, of the last days.
    package let outcomes: [OutcomesOverTime.Row]
    package let fuses: [PruneFuseFigures]
    /// What outcomes mean.
    package let meanings: [OutcomeMeanings.Row]
}

/// The prune fuse of one app and environment.
package struct PruneFuseFigures: Sendable {
    package let app: String
    package let environment: String
    /// Which evidence there was too much of; nil while it is whole.
    package let blownBy: PruneEvidence.Strength?
    /// What all providers together answered in ten minutes.
    package let counts: PruneCounts
}

extension PruneFuseFigures {
    /// The fuses that were blown or have answers to go by.
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

/// Some devices, and what more there is.
package struct FoundDevices: Sendable {
    package let devices: [RegisteredDevice]
    /// Whether there may be more behind the last one.
    package let isMore: Bool
    /// Where the search stopped before there were as many as asked for; the id behind which it goes on.
    package let stoppedAt: Int64?
}

extension ToolDatabase {
    /// Reads what devices there are.
    ///
    /// - Parameters:
    ///   - since: when the series begins, in microseconds since 1970.
    ///   - stepSeconds: how long a step is.
    ///   - app: of which app; nil for all.
    /// - Returns: the figures.
    /// - Throws: ``ToolError``.
    package func fleet(since: Int64, stepSeconds: Int32, app: String?) async throws(ToolError) -> FleetFigures {
        let since = Timestamp(microseconds: since)
        return try await run { connection throws(PostgresError) in
            let answers = try connection.run(RecentAnswers(apps: app.map { [$0] }))
            let fuses = try connection.run(StoredFuses()).filter { app == nil || $0.key.app == app }
            return FleetFigures(
                counts: try connection.run(SampleDevices(app: app)),
                outcomes: try connection.run(OutcomesOverTime(since: since, stepSeconds: stepSeconds, app: app)),
                fuses: PruneFuseFigures.all(answers, fuses),
                meanings: try connection.run(OutcomeMeanings())
            )
        }
    }

    /// Finds devices, the newest first, in so many that are looked at.
    ///
    /// - Parameters:
    ///   - filter: which; of the user and the topic nothing is heeded.
    ///   - reason: why they are disabled; nil for all.
    ///   - since: disabled since then; nil for all.
    /// - Returns: at most as many as the filter's limit.
    /// - Throws: ``ToolError``.
    package func findDevices(_ filter: DeviceFilter, reason: String?, since: Timestamp?) async throws(ToolError)
        -> FoundDevices
    {
        let statement = FindDevices(
            app: filter.app,
            provider: filter.provider,
            isDisabled: filter.isDisabled,
            reason: reason,
            disabledSince: since,
            before: filter.before,
            limit: filter.limit + 1
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
