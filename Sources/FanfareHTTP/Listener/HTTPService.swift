package import FanfareConfiguration
package import FanfareDaemon
internal import FanfareLogging
package import FanfareTools
internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import ServiceLifecycle

/// The HTTP server as one of the daemon's services.
package struct HTTPService: Service, CustomStringConvertible {
    private let address: ListenAddress
    private let key: String
    private let tls: TLSConfiguration?
    private let times: ListenerTimes
    private let context: ServerContext
    private let site: Site
    private let onListening: @Sendable (ListenAddress) -> Void

    package var description: String { key }

    /// Checks that the address can be bound, and reads certificate and key.
    ///
    /// - Parameters:
    ///   - address: the address to listen at.
    ///   - key: the setting that holds the address.
    ///   - daemon: the daemon that the routes report on.
    ///   - connections: the connection limit.
    ///   - hasTLS: whether the configured certificate is used.
    ///   - times: the timeouts and the file check interval.
    ///   - phone: checks a phone's token.
    ///   - onListening: called with the bound address.
    ///   - serving: creates what is served.
    /// - Throws: ``ToolError``: of kind `unavailable` if the address is in use; of kind `configuration` if the address,
    ///   a certificate, key or password file cannot be used; and what `serving` throws.
    package init(
        at address: ListenAddress,
        _ key: String,
        for daemon: ListenedDaemon,
        connections: Int,
        hasTLS: Bool,
        times: ListenerTimes,
        phone: @escaping PhoneCheck,
        onListening: @escaping @Sendable (ListenAddress) -> Void,
        serving: (ServerContext) throws(ToolError) -> Site
    ) throws(ToolError) {
        (self.address, self.key, self.times, self.onListening) = (address, key, times, onListening)
        tls = hasTLS ? try ServerIdentity.open(daemon.configuration().api, daemon, every: times.reread) : nil
        try AddressProbe.check(address, key)
        context = try ServerContext(daemon, at: address, connections: connections, phone: phone)
        site = try serving(context)
    }

    package func run() async throws {
        defer {
            if case .unix(let path) = address { try? FileManager.default.removeItem(atPath: path) }
        }
        let outcome: Result<Void, any Error>
        do {
            let application = try application()
            outcome = .success(
                // Shutdown waits for responses in progress, and a stream never ends by itself.
                try await withGracefulShutdownHandler {
                    try await application.run()
                } onGracefulShutdown: {
                    context.streams.stop()
                    site.stop()
                }
            )
        } catch {
            outcome = .failure(error)
        }
        await site.close()
        await context.close()
        do {
            try outcome.get()
        } catch {
            throw error is IOError ? AddressProbe.error(error, at: address, key) : error
        }
    }

    private func application() throws -> some ApplicationProtocol {
        var quiet = context.daemon.logger
        // The server logs client errors, and its lines are not part of the log contract.
        quiet.logLevel = .critical
        let http = HTTPServerBuilder.http1(
            configuration: .init(
                additionalChannelHandlers: [
                    HostRule.Placing(), RequestFraming(), RequestDeadline(head: times.head, body: times.body),
                    AnswerDeadline.Placing(times), ConnectionWatch(context.connections),
                ],
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 * 1024,
                    maxHeaderListSize: 32 * 1024,
                    maxHeaderFieldCount: 100
                )
            )
        )
        return try Application(
            responder: FrontDoor(context, site),
            server: tls.map { try .tls(http, tlsConfiguration: $0) } ?? http,
            configuration: ApplicationConfiguration(
                address: bindAddress,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    context.connections.limit + 1,
                    logger: quiet
                )
            ),
            onServerRunning: { announce($0) },
            logger: quiet
        )
    }

    private var bindAddress: BindAddress {
        switch address {
        case .tcp(let host, let port): .hostname(host, port: port)
        case .unix(let path): .unixDomainSocket(path: path)
        }
    }

    private func announce(_ channel: any Channel) {
        if case .unix(let path) = address {
            // Members of the daemon's group may connect; requests still need a token.
            try? FileManager.default.setAttributes([.posixPermissions: 0o660], ofItemAtPath: path)
        }
        var place = address
        if case .tcp(let host, 0) = address { place = .tcp(host: host, port: channel.localAddress?.port ?? 0) }
        context.daemon.logger.notice("HTTP API listening", metadata: .init([.listen: "\(place)"]))
        onListening(place)
    }
}

/// What a listener serves.
package struct Site: Sendable {
    /// The routes; if two match a path, the one with fewer names in braces wins.
    let routes: [Route]
    /// Answers a request whose path no route has.
    let unknown: @Sendable (Call) async throws -> Answer
    /// Ends the routes' streams, when a shutdown begins.
    let stop: @Sendable () -> Void
    /// Closes what the routes have opened, after the last answer.
    let close: @Sendable () async -> Void

    /// Creates a site.
    ///
    /// - Parameters:
    ///   - routes: the routes.
    ///   - unknown: answers a request whose path no route has.
    ///   - stop: ends the routes' streams, when a shutdown begins.
    ///   - close: closes what the routes have opened, after the last answer.
    package init(
        _ routes: [Route],
        unknown: @escaping @Sendable (Call) async throws -> Answer,
        stop: @escaping @Sendable () -> Void,
        close: @escaping @Sendable () async -> Void
    ) {
        (self.routes, self.unknown, self.stop, self.close) = (routes, unknown, stop, close)
    }
}
