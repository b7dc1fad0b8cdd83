public import FanfareConfiguration
public import FanfareDaemon
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
        self.init(times: ListenerTimes(), onListening: onListening)
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
        let key = onlyHealth ? "api.health_listen" : "api.listen"
        let tls = onlyHealth ? nil : try ServerIdentity.open(settings, daemon, every: times.reread)
        try AddressProbe.check(address, key)
        let connections = onlyHealth ? Configuration.API.healthConnections : settings.connections
        let context = try APIContext(daemon, at: address, connections: connections, times: times)
        let routes = Routes.all + (settings.console.contains(.read) ? Console.routes : [])
        return APIService(
            address: address,
            key: key,
            tls: tls,
            times: times,
            door: FrontDoor(context, routes: RouteTable(onlyHealth ? Routes.forProbes : routes)),
            onListening: onlyHealth ? onHealthListening : onListening
        )
    }
}
