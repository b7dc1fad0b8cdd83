internal import Logging
internal import Threading

/// Reads the configuration again on HUP: checks all of it first, then takes over what can be changed in a running daemon.
///
/// Whatever is wrong with the new one is logged, and the old one stays in force.
final class ConfigurationReloader: Sendable {
    /// The keys that take effect without a restart.
    static let liveKeys: Set<String> = ["log.level", "log.format"]

    private let inForce: Locked<Configuration>
    private let environment: [String: String]
    private let output: LogOutput
    private let logger: Logger
    private let load: @Sendable () throws(ConfigurationError) -> Configuration

    init(
        _ configuration: Configuration,
        environment: [String: String],
        output: LogOutput,
        logger: Logger,
        load: @escaping @Sendable () throws(ConfigurationError) -> Configuration
    ) {
        inForce = Locked(configuration)
        self.environment = environment
        self.output = output
        self.logger = logger
        self.load = load
    }

    /// Reloads.
    func reload() {
        let fresh: Configuration
        do {
            fresh = try load()
            try check(fresh)
        } catch {
            logger.error(
                "configuration not reloaded; the old one stays in force",
                metadata: .init([.error: "\(ToolError(error).description)"])
            )
            return
        }
        for warning in fresh.warnings {
            logger.warning("configuration warning", metadata: .init([.reason: "\(warning)"]))
        }
        let changes = inForce.withLock { [fresh] inForce in
            let changes = fresh.changes(from: inForce)
            inForce.log = fresh.log
            return changes
        }
        output.apply(fresh.log)
        report(changes)
    }

    /// Keys and password files are read as at the start, so that a restart will not fail on them.
    private func check(_ fresh: Configuration) throws(DaemonError) {
        _ = try fresh.postgresOptions(environment: environment)
        for (name, app) in fresh.apps.sorted(by: { $0.key < $1.key }) {
            guard let apns = app.apns else { continue }
            _ = try APNSPools.key(of: apns, app: name, environment: environment)
        }
    }

    private func report(_ changes: [ConfigurationChange]) {
        for change in changes {
            let metadata = Logger.Metadata([
                .configKey: "\(change.key)", .reason: "\(change.from ?? "none") → \(change.to ?? "none")",
            ])
            if Self.liveKeys.contains(change.key) {
                logger.notice("configuration changed", metadata: metadata)
            } else {
                logger.warning("configuration change needs a restart", metadata: metadata)
            }
        }
        logger.notice("configuration reloaded", metadata: .init([.count: "\(changes.count)"]))
    }
}
