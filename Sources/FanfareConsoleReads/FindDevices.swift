package import FanfareCore
package import FanfareRecords
internal import FanfareStore
package import FanfareTools
package import PostgresClient

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
    /// Reads the fuses of an app that are blown or have answers to judge by; of all apps, if it is nil.
    package static func read(
        of app: String?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> [PruneFuseFigures] {
        let answers = try connection.run(RecentAnswers(apps: app.map { [$0] }))
        let fuses = try connection.run(SQL.storedFuses()).filter { app == nil || $0.key.app == app }
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

extension ToolDatabase {
    /// Finds devices, the newest first, within a limited number of rows examined.
    ///
    /// - Parameters:
    ///   - filter: selects the devices; its user and topic are ignored.
    ///   - reason: the reason why they are disabled; nil for all.
    ///   - since: only devices disabled since this time; nil for all.
    /// - Returns: at most as many devices as the filter's limit.
    /// - Throws: ``ToolError``.
    package func findDevices(
        _ filter: DeviceFilter,
        reason: String?,
        since: Timestamp?
    ) async throws(ToolError) -> FoundPage<RegisteredDevice, Int64> {
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
        let rows = try await rows(of: statement)
        let devices = rows.compactMap(\.found)
        let shown = Array(devices.prefix(Int(filter.limit)))
        guard devices.count == shown.count else { return FoundPage(rows: shown, next: shown.last?.id) }
        return FoundPage(rows: shown, next: rows.last?.stop?.place, isStopped: rows.last?.stop != nil)
    }
}
