import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// The open ports of a sandbox and the threads that serve them.
struct Listeners {
    private let pushGroup: MultiThreadedEventLoopGroup
    /// A separate loop, so that a client reading a million lines does not delay pushes.
    private let controlGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private var channels: [any Channel] = []

    private init(threads: Int) {
        pushGroup = MultiThreadedEventLoopGroup(numberOfThreads: threads)
    }

    /// The channel whose end shows that the sandbox has stopped.
    var first: (any Channel)? { channels.first }

    /// Opens the production, sandbox and control port, and writes the configuration that names them.
    ///
    /// - Parameters:
    ///   - state: the state that the connections share.
    ///   - folder: the folder with the server certificate, to which the configuration is written.
    /// - Returns: the listeners and their addresses.
    /// - Throws: `SandboxError`; everything is then closed again.
    static func open(
        state: SandboxState,
        folder: SandboxFolder
    ) async throws -> (listeners: Listeners, ready: SandboxReady) {
        var listeners = Listeners(threads: state.options.threads)
        do {
            let ready = try await listeners.open(state, folder)
            return (listeners, ready)
        } catch {
            await listeners.stopListening()
            await listeners.shutDown()
            throw error
        }
    }

    /// Stops accepting connections.
    func stopListening() async {
        for channel in channels {
            try? await channel.close()
        }
    }

    /// Ends the threads and closes all open connections.
    func shutDown() async {
        try? await pushGroup.shutdownGracefully()
        try? await controlGroup.shutdownGracefully()
    }

    private mutating func open(_ state: SandboxState, _ folder: SandboxFolder) async throws -> SandboxReady {
        let options = state.options
        let tls = try Self.tlsContext(folder)
        let production = try await openPushPort(options.tlsPort, .production, state, tls)
        let sandbox = try await openPushPort(options.sandboxTLSPort, .sandbox, state, tls)
        try folder.writeConfiguration(options, ports: (production, sandbox))
        let readiness = Readiness()
        let bootstrap = Self.controlBootstrap(controlGroup, state, readiness)
        let control = try await Self.bind(bootstrap, port: options.controlPort)
        channels.append(control)
        // For programs that read the file itself; the control interface flushes before it responds.
        controlGroup.next().scheduleRepeatedTask(initialDelay: .milliseconds(200), delay: .milliseconds(200)) { _ in
            state.ledger.flush()
        }
        let ready = SandboxReady(
            tlsPort: production,
            sandboxTLSPort: sandbox,
            controlPort: control.localAddress?.port ?? 0,
            dir: folder.path,
            caFile: folder.caFile,
            configFile: folder.configFile,
            serviceAccountFile: folder.path(of: SandboxFolder.FileName.serviceAccount),
            vapidKeyFile: folder.path(of: SandboxFolder.FileName.vapidKey),
            vapidPublicKey: folder.vapidPublicKey.base64URL,
            certificateFile: folder.path(of: SandboxFolder.FileName.certificate)
        )
        readiness.set(ready)
        return ready
    }

    /// Opens a port for pushes on 127.0.0.1 and, if the host has it, on ::1.
    private mutating func openPushPort(
        _ wanted: Int,
        _ environment: Environment,
        _ state: SandboxState,
        _ tls: NIOSSLContext
    ) async throws -> Int {
        let bootstrap = Self.pushBootstrap(pushGroup, state, environment, tls)
        let listener = try await Self.bind(bootstrap, port: wanted)
        channels.append(listener)
        let port = listener.localAddress?.port ?? 0
        // Clients that resolve `localhost` to ::1 first need not fall back.
        if let second = try? await bootstrap.bind(host: "::1", port: port).get() {
            channels.append(second)
        }
        return port
    }

    private static func bind(_ bootstrap: ServerBootstrap, port: Int) async throws -> any Channel {
        do {
            return try await bootstrap.bind(host: "127.0.0.1", port: port).get()
        } catch {
            throw SandboxError(.listen, "cannot listen on 127.0.0.1:\(port): \(reason(error))")
        }
    }

    private static func reason(_ error: any Error) -> String {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: "another program has this port; choose another one, or 0 for any that is free"
        case EACCES: "this user may not open it; choose one from 1024 on, or 0 for any that is free"
        default: "\(error)"
        }
    }

    private static func tlsContext(_ folder: SandboxFolder) throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(folder.server.certificate.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(folder.server.key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
        // A client certificate is requested, as APNs does; it is checked per request, so that a bad one gets a response
        // and not a failed handshake.
        configuration.certificateVerification = .optionalVerification
        configuration.trustRoots = .certificates([
            try NIOSSLCertificate(bytes: Array(folder.authority.certificate.utf8), format: .pem)
        ])
        configuration.minimumTLSVersion = .tlsv12
        configuration.applicationProtocols = ["h2"]
        return try NIOSSLContext(configuration: configuration)
    }

    private static func pushBootstrap(
        _ group: MultiThreadedEventLoopGroup,
        _ state: SandboxState,
        _ environment: Environment,
        _ tls: NIOSSLContext
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16_384, maximum: 262_144)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let transport = TransportHandler()
                    let tap = FrameTap()
                    try channel.pipeline.syncOperations.addHandlers([
                        transport,
                        NIOSSLServerHandler(
                            context: tls,
                            customVerificationCallback: { _, promise in promise.succeed(.certificateVerified) }
                        ),
                        tap,
                        NIOHTTP2Handler(
                            mode: .server,
                            connectionConfiguration: connectionConfiguration(state.options),
                            streamConfiguration: streamConfiguration
                        ),
                        ProviderConnection(state: state, environment: environment, transport: transport, tap: tap),
                    ])
                }
            }
    }

    private static func connectionConfiguration(
        _ options: SandboxOptions
    ) -> NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.initialSettings = [
            HTTP2Setting(parameter: .maxConcurrentStreams, value: options.firstStreamLimit + FrameTap.limitOffset),
            HTTP2Setting(parameter: .initialWindowSize, value: options.initialWindow),
            HTTP2Setting(parameter: .maxHeaderListSize, value: 8000),
        ]
        // Clients on loopback are under test and need no protection against them.
        configuration.maximumSequentialEmptyDataFrames = 10_000
        configuration.maximumConnectionGlitches = 1_000_000
        configuration.controlFrameRateLimit.maximumCount = 1_000_000
        return configuration
    }

    private static var streamConfiguration: NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.streamResetFrameRateLimit.maximumCount = 1_000_000
        configuration.streamErrorRateLimit.maximumCount = 1_000_000
        return configuration
    }

    private static func controlBootstrap(
        _ group: MultiThreadedEventLoopGroup,
        _ state: SandboxState,
        _ readiness: Readiness
    ) -> ServerBootstrap {
        ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 128)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(
                        ControlHandler(ControlRoutes(state: state, readiness: readiness))
                    )
                }
            }
    }
}
