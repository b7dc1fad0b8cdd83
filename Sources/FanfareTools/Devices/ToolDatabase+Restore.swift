public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import FanfareService
internal import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// The number of devices restored in one transaction, which keeps transactions short.
    private static let restoredAtOnce = 10_000

    /// Re-enables devices that pruning disabled; devices unregistered by their users or apps stay disabled.
    ///
    /// It scans all devices once, by id, in many short statements, and restores them in many short transactions:
    /// devices restored before an error stay restored. Devices that are pruned during the scan may or may not be
    /// restored, unless the request has an end time. If a provider still reports a token unregistered, its device is
    /// pruned again.
    ///
    /// - Parameters:
    ///   - request: selects the devices.
    ///   - isDryRun: whether to count only.
    /// - Returns: the number of devices by reason.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown app, environment or reason, and for an invalid time.
    public func restore(_ request: RestoreRequest, isDryRun: Bool) async throws(ToolError) -> [(
        reason: String, devices: Int64
    )] {
        try await check(request)
        let start = try await run(since: request.since) { connection throws(PostgresError) in
            try connection.run(SQL.prunedSince(request.since.seconds, request.since.text))
        }
        guard let since = start.first else { throw ToolError(.failed, "the database did not say what time it is") }
        let pruned = PrunedDevices(request, since: since)
        var (counts, waiting): ([String: Int64], [Int64]) = ([:], [])
        var next: Int64? = 0
        while let place = next {
            next = nil
            // The session is returned to the pool after each part, so that other callers do not wait for the whole
            // scan.
            let rows = try await rows(of: SQL.findPruned(pruned, place, !isDryRun))
            for row in rows {
                switch row {
                case .found(let reason, let devices, let ids):
                    if isDryRun { counts[reason, default: 0] += devices }
                    waiting += ids
                case .stopped(let last): next = last
                }
            }
            while waiting.count >= Self.restoredAtOnce || (next == nil && !waiting.isEmpty) {
                let ids = [Int64](waiting.prefix(Self.restoredAtOnce))
                waiting.removeFirst(ids.count)
                for row in try await restore(ids, of: pruned, in: request.app) {
                    counts[row.reason, default: 0] += row.devices
                }
            }
        }
        return counts.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    private func restore(
        _ ids: [Int64],
        of pruned: PrunedDevices,
        in app: String
    ) async throws(ToolError) -> [(reason: String, devices: Int64)] {
        try await change { connection throws(PostgresError) in
            try connection.run(SQL.restoreDevices(pruned, ids))
        } action: { rows in
            rows.isEmpty ? nil : ToolAction("device.restore", app, count: rows.reduce(0) { $0 + $1.devices })
        }
    }
}

extension ToolDatabase {
    /// Resets an app's blown prune fuses: all daemons prune again within half a second, with their counts at zero.
    ///
    /// - Parameters:
    ///   - app: the app.
    ///   - environment: `production` or `sandbox`; nil for both.
    /// - Returns: the environments whose fuse was blown.
    /// - Throws: ``ToolError``; of kind `usage` for an unknown app or environment.
    public func resumePruning(app: String, environment: String?) async throws(ToolError) -> [String] {
        try await check(app: app, environment: environment)
        return try await rows(of: SQL.closeFuses(app, environment))
    }

    /// Returns the environments in which an app's prune fuse is blown.
    ///
    /// - Parameter app: the app.
    /// - Returns: `production`, `sandbox`, both or none.
    /// - Throws: ``ToolError``.
    public func blownFuses(app: String) async throws(ToolError) -> [String] {
        try await run { connection throws(PostgresError) in
            try connection.run(SQL.storedFuses()).filter { $0.key.app == app && $0.blownBy != nil }.map(
                \.key.environment
            )
            .sorted()
        }
    }
}

extension ToolDatabase {
    private func check(_ request: RestoreRequest) async throws(ToolError) {
        try await check(app: request.app, environment: request.environment)
        let known = try await rows(of: SQL.pruneReasons())
        if let reason = request.reason, !known.contains(reason) {
            throw ToolError(
                .usage,
                "“\(reason)” is no reason for pruning",
                hint: "Use one of \(known.joined(separator: ", "))."
            )
        }
    }

    /// Refuses an unknown name: such a request finds nothing, and in an emergency a mistyped name must not look like
    /// success.
    private func check(app: String, environment: String?) async throws(ToolError) {
        let environments = ["production", "sandbox"]
        if let environment, !environments.contains(environment) {
            throw ToolError(
                .usage,
                "“\(environment)” is not an environment",
                hint: "Use one of \(environments.joined(separator: ", "))."
            )
        }
        let apps = try await rows(of: SQL.appNames())
        if !apps.contains(app) {
            throw ToolError(.usage, "there is no app “\(app)”", hint: "Use one of \(apps.joined(separator: ", ")).")
        }
    }
}
