public import FanfareConfiguration
public import FanfareTools
public import ServiceLifecycle

/// Answers by HTTP for a daemon.
public struct APIListener: DaemonListener {
    private let onListening: @Sendable (ListenAddress) -> Void
    private let onHealthListening: @Sendable (ListenAddress) -> Void
    private let times: ListenerTimes

    /// Makes one.
    ///
    /// - Parameter onListening: told where it listens once it does: at which port, where any was to be taken.
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

    /// Looks whether the address can be had, reads certificate and key, and puts together what will answer there.
    ///
    /// - Parameters:
    ///   - address: where.
    ///   - daemon: beside whom.
    ///   - onlyHealth: whether only health and metrics are answered, without TLS, with sessions of its own.
    /// - Returns: answers while it runs.
    /// - Throws: ``ToolError``; of kind `unavailable` for an address that is taken, of kind `configuration` for one that cannot be
    ///   used, and for a certificate, key or password file that cannot, nor the keys of phones' tokens.
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
