internal import FanfareConfiguration
internal import FanfareLogging
internal import FanfareProviders
internal import FanfareService
internal import FanfareTools
internal import Logging
internal import Threading

/// Reloads the configuration on SIGHUP: checks all of it first, then swaps the settings that a running daemon can
/// change.
///
/// If the new configuration has an error, the error is logged and the old configuration stays in force.
final class ConfigurationReloader: Sendable {
    private let inForce: Locked<Configuration>
    private let daemon: Daemon
    private let output: LogOutput
    private let logger: Logger
    private let load: @Sendable () throws(ConfigurationError) -> Configuration

    init(
        _ configuration: Configuration,
        daemon: Daemon,
        output: LogOutput,
        logger: Logger,
        load: @escaping @Sendable () throws(ConfigurationError) -> Configuration
    ) {
        inForce = Locked(configuration)
        self.daemon = daemon
        self.output = output
        self.logger = logger
        self.load = load
    }

    /// The configuration in force; keys that need a restart keep their values from the start.
    var configuration: Configuration { inForce.withLock { $0 } }

    /// Reloads the configuration.
    func reload() {
        let fresh: Configuration
        do {
            fresh = try load()
            try daemon.apply(fresh)
        } catch {
            logger.error(
                "configuration not reloaded; the old one stays in force",
                metadata: .init([.error: "\(ToolError(error).description)"])
            )
            return
        }
        output.apply(fresh.log)
        for warning in fresh.warnings {
            logger.warning("configuration warning", metadata: .init([.detail: "\(warning)"]))
        }
        let changes = inForce.withLock { [fresh] inForce in
            let changes = fresh.changes(from: inForce)
            inForce.takeLive(from: fresh)
            return changes
        }
        report(changes)
    }

    private func report(_ changes: [ConfigurationChange]) {
        let live = changes.filter { !$0.needsRestart }
        let waiting = changes.filter(\.needsRestart)
        for change in live {
            logger.notice("configuration changed", metadata: metadata([change]))
        }
        if !waiting.isEmpty {
            logger.warning("configuration changes wait for a restart", metadata: metadata(waiting))
        }
        logger.notice("configuration reloaded", metadata: .init([.count: "\(live.count)"]))
    }

    private func metadata(_ changes: [ConfigurationChange]) -> Logger.Metadata {
        let values = changes.map { "\($0.from ?? "none") → \($0.to ?? "none")" }
        return .init([
            .configKey: "\(changes.map(\.key).joined(separator: ", "))",
            .detail: "\(values.joined(separator: ", "))",
        ])
    }
}
