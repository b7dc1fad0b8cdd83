internal import FanfareConfiguration
internal import FanfareDaemon
internal import FanfareLogging
internal import FanfareTools
internal import Foundation
internal import Hummingbird
internal import HummingbirdCore
internal import HummingbirdTLS
internal import Logging
internal import NIOCore
internal import NIOSSL
internal import ServiceLifecycle

/// The HTTP server as one of the daemon's services.
struct APIService: Service, CustomStringConvertible {
    let address: ListenAddress
    /// The setting that holds the address.
    let key: String
    let tls: TLSConfiguration?
    let times: ListenerTimes
    let door: FrontDoor
    /// Called with the bound address.
    let onListening: @Sendable (ListenAddress) -> Void

    var description: String { key }

    func run() async throws {
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
                    door.context.tail.stop()
                }
            )
        } catch {
            outcome = .failure(error)
        }
        await door.context.close()
        do {
            try outcome.get()
        } catch {
            throw error is IOError ? AddressProbe.error(error, at: address, key) : error
        }
    }

    private func application() throws -> some ApplicationProtocol {
        var quiet = door.context.daemon.logger
        // The server logs client errors, and its lines are not part of the log contract.
        quiet.logLevel = .critical
        let http = HTTPServerBuilder.http1(
            configuration: .init(
                additionalChannelHandlers: [
                    HostRule.Placing(), RequestFraming(), RequestDeadline(head: times.head, body: times.body),
                    AnswerDeadline.Placing(times), ConnectionWatch(door.context.connections),
                ],
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 * 1024,
                    maxHeaderListSize: 32 * 1024,
                    maxHeaderFieldCount: 100
                )
            )
        )
        return try Application(
            responder: door,
            server: tls.map { try .tls(http, tlsConfiguration: $0) } ?? http,
            configuration: ApplicationConfiguration(
                address: bindAddress,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    door.context.connections.limit + 1,
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
        door.context.daemon.logger.notice("HTTP API listening", metadata: .init([.listen: "\(place)"]))
        onListening(place)
    }
}
