public import CoreMetrics
public import FanfareConfiguration
public import FanfareService
public import Logging
package import PostgresClient
public import ServiceLifecycle

/// What answers by HTTP beside a daemon's stages; a program that has none works without it.
///
/// The seam behind which the HTTP server lies: what runs a daemon builds without it.
public protocol DaemonListener: Sendable {
    /// Looks whether the address can be had, and puts together what will answer there; nothing is answered yet.
    ///
    /// - Parameters:
    ///   - address: where.
    ///   - daemon: beside whom.
    ///   - onlyHealth: whether only health and metrics are answered.
    /// - Returns: answers while it runs; on a graceful shutdown it takes no more connections, and ends when what was begun is
    ///   answered.
    /// - Throws: ``ToolError``; of kind `unavailable` for an address that is taken, before any stage has begun.
    func open(at address: ListenAddress, for daemon: ListenedDaemon, onlyHealth: Bool) throws(ToolError) -> any Service
}

/// A daemon as what answers by HTTP sees it.
public struct ListenedDaemon: Sendable {
    /// Variables of the process.
    public let environment: [String: String]
    /// The program's version.
    public let version: String
    /// Where log lines go.
    public let logger: Logger
    /// What counts.
    public let metrics: any MetricsFactory
    /// The configuration in force.
    public let configuration: @Sendable () -> Configuration
    /// The daemon's standing now, without asking anybody.
    public let readiness: @Sendable () -> DaemonReadiness
    /// Where the daemon's sessions have been; nil where nothing is shared.
    package var timelines: PostgresTimelines?

    /// Puts facts together.
    ///
    /// - Parameters:
    ///   - environment: variables of the process.
    ///   - version: the program's version.
    ///   - logger: where log lines go.
    ///   - metrics: what counts.
    ///   - configuration: gives the configuration in force.
    ///   - readiness: gives the daemon's standing.
    public init(
        environment: [String: String],
        version: String,
        logger: Logger,
        metrics: any MetricsFactory,
        configuration: @escaping @Sendable () -> Configuration,
        readiness: @escaping @Sendable () -> DaemonReadiness
    ) {
        (self.environment, self.version, self.logger, self.metrics) = (environment, version, logger, metrics)
        (self.configuration, self.readiness) = (configuration, readiness)
    }
}
