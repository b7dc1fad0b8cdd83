public import CoreMetrics
public import FanfareConfiguration
public import FanfareService
public import FanfareTools
public import Logging
package import PostgresClient
public import ServiceLifecycle

/// The HTTP server that runs beside a daemon's stages; optional.
///
/// A protocol, so that the code that runs a daemon builds without the HTTP server.
public protocol DaemonListener: Sendable {
    /// Checks that the address can be bound, and builds the server; it accepts no connection yet.
    ///
    /// - Parameters:
    ///   - address: the address to listen on.
    ///   - daemon: the daemon that it reports on.
    ///   - onlyHealth: whether only health and metrics are served.
    /// - Returns: a service that answers while it runs. On graceful shutdown it stops accepting connections, and ends
    ///   when the requests in progress are answered.
    /// - Throws: ``ToolError``; of kind `unavailable` for an address in use, before any stage has started.
    func open(at address: ListenAddress, for daemon: ListenedDaemon, onlyHealth: Bool) throws(ToolError) -> any Service
}

/// A daemon as seen by the HTTP server.
public struct ListenedDaemon: Sendable {
    /// Variables of the process.
    public let environment: [String: String]
    /// The program's version.
    public let version: String
    /// The logger.
    public let logger: Logger
    /// The metrics of the process.
    public let metrics: any MetricsFactory
    /// The configuration in force.
    public let configuration: @Sendable () -> Configuration
    /// Returns the daemon's readiness now, without a query.
    public let readiness: @Sendable () -> DaemonReadiness
    /// The timelines of the daemon's sessions; nil if they are not shared.
    package var timelines: PostgresTimelines?

    /// Assembles the daemon's properties.
    ///
    /// - Parameters:
    ///   - environment: variables of the process.
    ///   - version: the program's version.
    ///   - logger: the logger.
    ///   - metrics: the metrics of the process.
    ///   - configuration: returns the configuration in force.
    ///   - readiness: returns the daemon's readiness.
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
