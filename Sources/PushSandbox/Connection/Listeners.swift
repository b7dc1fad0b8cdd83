import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Opens the ports of a sandbox.
enum Listeners {
    /// Opens production, sandbox and control port and writes the configuration that names them.
    ///
    /// - Parameter make: wraps up what was opened.
    /// - Throws: `SandboxError`; everything is then closed again.
    static func open<Result>(
        state: SandboxState,
        folder: SandboxFolder,
        make: (SandboxReady, [MultiThreadedEventLoopGroup], [any Channel]) -> Result
    ) async throws -> Result {
        let options = state.options
        let pushGroup = MultiThreadedEventLoopGroup(numberOfThreads: options.threads)
        // A loop of its own: somebody who reads a million lines must not delay pushes.
        let controlGroup = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var channels: [any Channel] = []
        do {
            let tls = try tlsContext(folder)
            var ports: [Int] = []
            for (wanted, environment) in [
                (options.tlsPort, Environment.production), (options.sandboxTLSPort, Environment.sandbox),
            ] {
                let bootstrap = pushBootstrap(pushGroup, state, environment, tls)
                let listener = try await bind(bootstrap, port: wanted)
                channels.append(listener)
                ports.append(listener.localAddress?.port ?? 0)
                // Clients that resolve `localhost` to ::1 first need not fall back. A host may lack IPv6.
                if let second = try? await bootstrap.bind(host: "::1", port: ports[ports.count - 1]).get() {
                    channels.append(second)
                }
            }
            try folder.writeConfiguration(options, ports: (ports[0], ports[1]))
            let readiness = Readiness()
            let control = try await bind(controlBootstrap(controlGroup, state, readiness), port: options.controlPort)
            channels.append(control)
            let ready = SandboxReady(
                tlsPort: ports[0],
                sandboxTLSPort: ports[1],
                controlPort: control.localAddress?.port ?? 0,
                dir: folder.path,
                caFile: folder.caFile,
                configFile: folder.configFile
            )
            readiness.set(ready)
            return make(ready, [pushGroup, controlGroup], channels)
        } catch {
            for channel in channels {
                try? await channel.close()
            }
            state.ledger.close()
            try? await pushGroup.shutdownGracefully()
            try? await controlGroup.shutdownGracefully()
            throw error
        }
    }

    private static func bind(_ bootstrap: ServerBootstrap, port: Int) async throws -> any Channel {
        do {
            return try await bootstrap.bind(host: "127.0.0.1", port: port).get()
        } catch {
            throw SandboxError(.listen, "cannot listen on 127.0.0.1:\(port): \(error); choose another port, or 0")
        }
    }

    private static func tlsContext(_ folder: SandboxFolder) throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(folder.server.certificate.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(folder.server.key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)],
            privateKey: .privateKey(key)
        )
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
            .childChannelOption(.recvAllocator, value: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 16_384, maximum: 262_144))
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let transport = TransportHandler()
                    let tap = FrameTap()
                    try channel.pipeline.syncOperations.addHandlers([
                        transport,
                        NIOSSLServerHandler(context: tls),
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
        // Clients on loopback are being tested, not fended off.
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
