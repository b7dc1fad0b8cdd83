public import CoreMetrics
public import FanfareConfiguration
internal import FanfareCore
internal import FanfareFeedback
public import FanfareMetrics
public import FanfareProviders
internal import FanfareSending
package import FanfareStages
internal import FanfareStore
public import Logging
package import PostgresClient
public import ServiceLifecycle
internal import Threading

/// A Fanfare daemon, built from its configuration.
public struct Daemon: Sendable {
    /// The configuration at the start; the stages have the latest values of the keys that ``apply(_:)`` changes.
    private let configuration: Configuration
    private let environment: [String: String]
    private let version: String
    private let logger: Logger
    private let database: DatabaseSessions
    private let wiring: Wiring
    private let feedback: FeedbackDispatcher
    private let pipeline: Pipeline

    /// Reads keys and builds the stages, without connecting to anything.
    ///
    /// - Parameters:
    ///   - configuration: the checked configuration.
    ///   - environment: the environment variables of the process, for `CREDENTIALS_DIRECTORY`.
    ///   - version: the version of this program.
    ///   - logger: the logger of all stages.
    ///   - metrics: the metrics backend; a `MetricsRegistry` should have ``metrics`` as its descriptions. `fanfare
    ///     status` shows the counts with any backend.
    /// - Throws: ``DaemonError`` if a key or password file cannot be used.
    public init(
        configuration: Configuration,
        environment: [String: String],
        version: String,
        logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory
    ) throws(DaemonError) {
        self.configuration = configuration
        self.environment = environment
        self.version = version
        self.logger = logger
        database = DatabaseSessions(
            base: try configuration.postgresOptions(environment: environment),
            place: .installation(configuration.installation)
        )
        let context = StageContext(
            logger: logger,
            settings: StageSettings(configuration, version: version),
            database: database
        )
        let apps = try AppSenders.read(
            configuration.apps,
            send: configuration.send,
            environment: environment,
            logger: logger
        )
        let hooks = try FeedbackHook.read(configuration.feedback, environment: environment)
        feedback = FeedbackDispatcher(context: context, hooks: hooks)
        wiring = Wiring(context: context, counters: PipelineCounters(metrics), apps: apps)
        pipeline = Pipeline(wiring, feedback: feedback)
    }

    /// Applies the keys that can change while the daemon runs: `apps`, `retry`, `retention`, `feedback` and
    /// `log.deliveries`.
    ///
    /// All values are checked before any is applied, so a restart with them would not fail. The senders of an app that
    /// changed, its files included, are replaced: the old ones finish the requests in flight and give back the other
    /// deliveries, which the new ones send. Must not be called concurrently.
    ///
    /// - Parameter fresh: the checked configuration; all other keys are ignored.
    /// - Throws: ``DaemonError`` if a key, CA or password file cannot be used; nothing has changed then.
    public func apply(_ fresh: Configuration) throws(DaemonError) {
        _ = try fresh.postgresOptions(environment: environment)
        let apps = try AppSenders.read(
            fresh.apps,
            before: wiring.senders.roster.apps,
            send: configuration.send,
            environment: environment,
            logger: logger
        )
        let hooks = try FeedbackHook.read(fresh.feedback, environment: environment)
        wiring.apply(StageSettings(fresh, version: version))
        feedback.apply(hooks)
        wiring.senders.replace(with: apps)
    }

    /// The descriptions of a daemon's metrics, for the registry that stores them.
    public static var metrics: [MetricDescription] {
        PipelineMetric.allCases.map(\.description)
    }

    /// The daemon's readiness, from its own state without a query.
    public var readiness: DaemonReadiness { wiring.context.readiness(wiring.limits.fuses) }

    /// The timelines that the daemon's sessions have seen, for other sessions of the process.
    package var timelines: PostgresTimelines? { database.base.timelines }

    /// The time of the last turn of each stage's loop.
    package var pulses: Pulses { wiring.context.pulses }

    /// The services, in the order of their dependencies.
    public var services: [any Service] {
        pipeline.stages.map { StageService(stage: $0, pulses: pulses) }
    }

    /// Checks that the daemon may send from this database: it is reachable, no replica, has a supported schema version,
    /// and is adopted by this installation.
    ///
    /// - Throws: ``DaemonError`` with the reason.
    public func checkDatabase() throws(DaemonError) {
        let installation: Installation?
        var isOwnSchema: Bool?
        do throws(PostgresError) {
            let connection = try PostgresConnection.open(database.control("start"))
            defer { connection.close() }
            // Behind a connection pool any prepared statement may fail, with an error that does not show the cause.
            installation = connection.isPooled ? nil : try Self.readInstallation(on: connection)
            if installation != nil { isOwnSchema = try connection.run(SQL.isLoadedFrom(Schema.sql)).first ?? nil }
        } catch {
            throw DaemonError(databaseError: error)
        }
        guard let installation else {
            throw DaemonError(
                .configuration,
                "the database URL leads to a connection pool, through which neither LISTEN nor session locks work",
                hint: "Connect Fanfare to PostgreSQL itself; your application may emit through the pool."
            )
        }
        try installation.check(name: configuration.installation)
        if configuration.installation == nil {
            logger.warning("no installation is named; a physical copy of this database could push to real users")
        }
        if isOwnSchema == false {
            logger.warning("the schema was loaded by another program; run `fanfare migrate` of the newest Fanfare")
        }
    }

    private static func readInstallation(
        on connection: PostgresConnection
    ) throws(PostgresError) -> Installation {
        guard let read = try connection.run(SQL.readInstallation()).first else {
            throw PostgresError(.protocolMismatch, message: "the schema has no version")
        }
        return read
    }

    /// Waits until LISTEN is known to work, for at most ten seconds.
    ///
    /// - Returns: whether LISTEN works; without it the daemon polls.
    public func waitUntilListening() async -> Bool {
        for _ in 0..<200 {
            if wiring.context.status.isListening { return true }
            try? await Task.sleep(for: .milliseconds(50))
        }
        return false
    }
}

extension DaemonError {
    /// Creates the error of a failed start from a database error.
    package init(databaseError error: PostgresError) {
        switch error.sqlState {
        case "42P01", "3F000":
            self.init(
                .configuration,
                "this database has no Fanfare schema",
                hint: "Run `fanfare migrate`, then `fanfare adopt`."
            )
        case "42883":
            self.init(
                .configuration,
                "this database's Fanfare schema is older than this program",
                hint: "Run `fanfare migrate`."
            )
        case "42501":
            self.init(
                .configuration,
                "\(error)",
                hint: "GRANT fanfare_daemon to the role that Fanfare connects as."
            )
        case "25006":
            self.init(
                .configuration,
                "this database takes no writes, as a standby does",
                hint: "Connect to its primary."
            )
        case let state? where state.hasPrefix("28") || state.hasPrefix("3D"):
            self.init(.configuration, "\(error)", hint: "Look at database.url and database.password_file.")
        case "53300":
            self.init(
                .unavailable,
                "\(error)",
                hint: "End sessions, or raise max_connections or the CONNECTION LIMIT of the role or the database."
            )
        default:
            guard error.code != .invalidOptions else {
                self.init(.configuration, "\(error)", hint: "Look at database.url and database.password_file.")
                return
            }
            self.init(.unavailable, "\(error)", hint: "Is PostgreSQL running, and database.url right?")
        }
    }
}
