public import FanfareConfiguration
public import FanfareTools
public import ServiceLifecycle

/// Answers by HTTP for a daemon.
public struct APIListener: DaemonListener {
    private let onListening: @Sendable (ListenAddress) -> Void
    private let times: ListenerTimes

    /// Makes one.
    ///
    /// - Parameter onListening: told where it listens once it does: at which port, where any was to be taken.
    public init(onListening: @escaping @Sendable (ListenAddress) -> Void = { _ in }) {
        self.init(times: ListenerTimes(), onListening: onListening)
    }

    init(times: ListenerTimes, onListening: @escaping @Sendable (ListenAddress) -> Void) {
        (self.times, self.onListening) = (times, onListening)
    }

    /// Looks whether the address can be had, reads certificate and key, and puts together what will answer there.
    ///
    /// - Parameters:
    ///   - address: where.
    ///   - daemon: beside whom.
    /// - Returns: answers while it runs.
    /// - Throws: ``ToolError``; of kind `unavailable` for an address that is taken, of kind `configuration` for one that cannot be
    ///   used, and for a certificate, key or password file that cannot, nor the keys of phones' tokens.
    public func open(at address: ListenAddress, for daemon: ListenedDaemon) throws(ToolError) -> any Service {
        let configuration = daemon.configuration()
        let tls = try ServerIdentity.open(configuration.api, daemon, every: times.reread)
        try AddressProbe.check(address)
        let desk = try APIDesk(daemon, at: address, times: times)
        return APIService(
            address: address,
            settings: configuration.api,
            tls: tls,
            times: times,
            door: FrontDoor(
                desk,
                routes: RouteTable(Routes.all + (configuration.api.console.contains(.read) ? Console.routes : []))
            ),
            onListening: onListening
        )
    }
}
