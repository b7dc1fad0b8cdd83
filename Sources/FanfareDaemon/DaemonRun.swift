public import CoreMetrics
public import FanfareConfiguration
public import FanfareLogging
internal import FanfareProviders
internal import FanfareService
public import FanfareTools
internal import Logging
public import ServiceLifecycle
internal import Threading
public import UnixSignals

/// A daemon's life cycle: waits for its database, runs the services, acts on signals, reloads, and drains within a time
/// limit.
public struct DaemonRun: Sendable {
    /// The time limit of draining after SIGTERM; below systemd's `TimeoutStopSec`.
    public static let drainLimit = Duration.seconds(25)

    private let configuration: Configuration
    private let output: LogOutput
    private let logger: Logger
    private let daemon: Daemon
    private let notifier: SystemdNotifier
    private let reloader: ConfigurationReloader
    /// The HTTP servers; empty if HTTP is off.
    private let listeners: [any Service]

    /// Reads the keys and assembles the services; connects to nothing yet.
    ///
    /// - Parameters:
    ///   - configuration: checked values; its warnings are logged.
    ///   - environment: variables of the process.
    ///   - version: this program's version.
    ///   - output: the log output; a reload changes its level and format.
    ///   - metrics: the metrics of the process.
    ///   - notifier: notifies systemd when the daemon is ready, reloads or drains.
    ///   - listener: the HTTP server, used if the configuration enables it; nil for a program without one.
    ///   - load: reads the configuration again, with the flags and environment of the start.
    /// - Throws: ``ToolError`` for a key or password file that cannot be used, and an address in use.
    public init(
        configuration: Configuration,
        environment: [String: String],
        version: String,
        output: LogOutput,
        metrics: any MetricsFactory,
        notifier: SystemdNotifier,
        listener: (any DaemonListener)? = nil,
        load: @escaping @Sendable () throws(ConfigurationError) -> Configuration
    ) throws(ToolError) {
        let logger = output.logger()
        self.configuration = configuration
        self.output = output
        self.logger = logger
        self.notifier = notifier
        logger.notice("starting", metadata: .init([.version: "\(version)", .file: "\(configuration.file ?? "none")"]))
        do throws(DaemonError) {
            daemon = try Daemon(
                configuration: configuration,
                environment: environment,
                version: version,
                logger: logger,
                metrics: metrics
            )
        } catch {
            throw ToolError(error)
        }
        reloader = ConfigurationReloader(
            configuration,
            daemon: daemon,
            output: output,
            logger: logger,
            load: load
        )
        let (daemon, reloader) = (daemon, reloader)
        var listened = ListenedDaemon(
            environment: environment,
            version: version,
            logger: logger,
            metrics: metrics,
            configuration: { reloader.configuration },
            readiness: { daemon.readiness }
        )
        listened.timelines = daemon.timelines
        var listeners: [any Service] = []
        for (address, onlyHealth) in [(configuration.api.listen, false), (configuration.api.healthListen, true)] {
            guard let address else { continue }
            guard let listener else { throw Self.cannotListen(address) }
            listeners.append(try listener.open(at: address, for: listened, onlyHealth: onlyHealth))
        }
        self.listeners = listeners
        for warning in configuration.warnings {
            logger.warning("configuration warning", metadata: .init([.detail: "\(warning)"]))
        }
        DescriptorNeed(configuration).log(DescriptorLimit.raise(), to: logger)
    }

    private static func cannotListen(_ address: ListenAddress) -> ToolError {
        ToolError(
            .configuration,
            "api.listen: this program was built without what answers by HTTP at \(address)",
            hint: "Leave api.listen out, or build the program fanfare."
        )
    }

    /// Waits until the database is reachable, and checks that it belongs to this installation.
    ///
    /// - Parameter patience: how long to retry an unreachable database; a foreign database fails at once.
    /// - Throws: ``ToolError``, or `CancellationError`.
    public func checkDatabase(patience: Duration) async throws {
        let deadline = ContinuousClock.now + patience
        while true {
            do throws(DaemonError) {
                return try daemon.checkDatabase()
            } catch {
                guard error.kind == .unavailable, let pause = Self.pause(left: deadline - .now) else {
                    throw ToolError(daemon: error, at: configuration.databasePlace)
                }
                logger.warning(
                    "database not reachable yet",
                    metadata: .init([.error: "\(error.reason)", .retryMilliseconds: "\(pause.inMicroseconds / 1000)"])
                )
                try await Task.sleep(for: pause)
            }
        }
    }

    /// Returns the pause before the next connection attempt; the last attempt comes at the end of the patience.
    ///
    /// - Parameter left: the rest of the patience.
    /// - Returns: at most one second; nil if the patience is over.
    static func pause(left: Duration) -> Duration? {
        left > .zero ? min(left, .seconds(1)) : nil
    }

    /// Runs the services until they end.
    ///
    /// - Parameters:
    ///   - signals: the signals to act on; a `UnixSignalsSequence(trapping: ServiceGroup.daemonSignals)`.
    ///   - abandon: ends the process. Called with the signal that demands an immediate stop, or with nil when draining
    ///     takes longer than ``drainLimit``. In-flight deliveries are then unrecorded and may be sent again.
    /// - Returns: how the run ended.
    /// - Throws: the error of a service that fails.
    public func run(
        signals: some AsyncSequence<UnixSignal, Never> & Sendable,
        abandon: @escaping @Sendable (UnixSignal?) -> Void
    ) async throws -> ServiceGroup.Ending {
        let group = ServiceGroup(
            // Listeners come last, because services stop in reverse order: no request arrives while in-flight
            // deliveries are recorded.
            configuration: .init(
                services: (daemon.services + listeners).map { .init(service: $0) },
                logger: logger
            )
        )
        // The Swift runtime traps if it cannot open descriptors for its timers; this sleep opens them early, while some
        // are free.
        try await Task.sleep(for: .milliseconds(1))
        let (forwarded, forward) = AsyncStream.makeStream(of: UnixSignal.self)
        let guardian = DrainGuard(limit: Self.drainLimit, logger: logger, abandon: abandon)
        return try await withThrowingTaskGroup(of: ServiceGroup.Ending?.self) { tasks in
            tasks.addTask {
                try await group.run(signals: forwarded, notifier: notifier, logger: logger) { reloader.reload() }
            }
            tasks.addTask {
                await guardian.watch(signals, forwardingTo: forward)
                return nil
            }
            tasks.addTask {
                await announce()
                return nil
            }
            tasks.addTask {
                await Watchdog(notifier: notifier, pulses: daemon.pulses, logger: logger).run()
                return nil
            }
            defer { tasks.cancelAll() }
            while let event = try await tasks.next() {
                if let ending = event { return ending }
            }
            return .finished
        }
    }

    /// Announces readiness once LISTEN works; without LISTEN the daemon polls, and is ready too.
    private func announce() async {
        let isListening = await daemon.waitUntilListening()
        guard !Task.isCancelled else { return }
        if isListening {
            let name = configuration.installation.map { Logger.Metadata([.installation: "\($0)"]) }
            logger.notice("ready", metadata: name)
            notifier.ready(status: "listening")
        } else {
            logger.warning("ready, but LISTEN does not work: events are found by polling")
            notifier.ready(status: "polling, because LISTEN does not work")
        }
    }
}
