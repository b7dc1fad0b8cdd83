public import FanfareConfiguration
internal import FanfareConsole
public import FanfareDaemon
internal import FanfareHTTP
internal import FanfareRecords
internal import FanfareService
public import FanfareTools
public import ServiceLifecycle

/// Opens the daemon's HTTP listeners.
public struct APIListener: DaemonListener {
    private let onListening: @Sendable (ListenAddress) -> Void
    private let onHealthListening: @Sendable (ListenAddress) -> Void
    private let times: ListenerTimes

    /// Creates a listener with the default timeouts.
    ///
    /// - Parameter onListening: called with the address once the listener is bound, including the port it got for port
    ///   0.
    public init(onListening: @escaping @Sendable (ListenAddress) -> Void = { _ in }) {
        self.init(times: .standard, onListening: onListening)
    }

    init(
        times: ListenerTimes,
        onHealthListening: @escaping @Sendable (ListenAddress) -> Void = { _ in },
        onListening: @escaping @Sendable (ListenAddress) -> Void
    ) {
        (self.times, self.onListening, self.onHealthListening) = (times, onListening, onHealthListening)
    }

    /// Checks that the address can be bound, reads certificate and key, and builds the HTTP service for it.
    ///
    /// - Parameters:
    ///   - address: the address to listen at.
    ///   - daemon: the daemon that the API reports on.
    ///   - onlyHealth: whether to serve only health and metrics, without TLS and on database sessions of their own.
    /// - Returns: the service; it listens while it runs.
    /// - Throws: ``ToolError``: of kind `unavailable` if the address is in use; of kind `configuration` if the address,
    ///   a certificate, key or password file, or the keys of an app's phone tokens cannot be used.
    public func open(
        at address: ListenAddress,
        for daemon: ListenedDaemon,
        onlyHealth: Bool
    ) throws(ToolError) -> any Service {
        let settings = daemon.configuration().api
        let phones = PhoneApps(daemon, times: times)
        return try HTTPService(
            at: address,
            onlyHealth ? "api.health_listen" : "api.listen",
            for: daemon,
            connections: onlyHealth ? Configuration.API.healthConnections : settings.connections,
            hasTLS: !onlyHealth,
            times: times,
            phone: { try phones.user($0, of: $1) },
            onListening: onlyHealth ? onHealthListening : onListening
        ) { context throws(ToolError) in
            try phones.read()
            let state = APIState(
                context.database,
                gate: context.gate,
                reports: ReportCounters(daemon.metrics, kinds: DeviceReport.Kind.allCases.map { "\($0)" })
            )
            let console = settings.console.contains(.read) ? Console.routes() : []
            return Site(
                onlyHealth ? Routes.forProbes(state) : Routes.all(state) + console,
                unknown: { call in
                    if let page = await Console.page(forUnknown: call) { return page }
                    throw Problem(.absent, "no such path", hint: "GET /v1/openapi.json lists all paths.")
                },
                stop: { state.tail.stop() },
                close: { await state.tail.close() }
            )
        }
    }
}

/// All routes of the API.
enum Routes {
    /// Returns the routes in the order of the documentation.
    static func all(_ state: APIState) -> [Route] {
        health(state.readiness) + documents(state.figures) + apps + events + scheduled + messages + devices + users
            + reports(state.reports) + why
            + rules + campaigns
            + status + tail(state.tail)
    }

    /// Returns the routes of `api.health_listen`.
    static func forProbes(_ state: APIState) -> [Route] {
        (health(state.readiness) + documents(state.figures)).filter {
            ["/livez", "/readyz", "/metrics"].contains($0.path)
        }
    }
}

/// What requests of the API share beside the server's sessions.
struct APIState: Sendable {
    let readiness: ReadinessCheck
    let figures: DaemonFigures
    let tail: TailHub
    let reports: ReportQueue

    /// Creates the state; nothing is read yet.
    ///
    /// - Parameters:
    ///   - database: the database to read.
    ///   - gate: the session that waits for no query.
    ///   - counters: count what devices report.
    init(_ database: ToolDatabase, gate: ToolDatabase, reports counters: ReportCounters) {
        (readiness, figures, tail) = (ReadinessCheck(gate), DaemonFigures(database), TailHub(database))
        reports = ReportQueue(database, counters)
    }
}
