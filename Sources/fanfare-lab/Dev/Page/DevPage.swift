internal import Hummingbird
internal import Logging
internal import ServiceLifecycle

/// The demo's page on an origin of its own: that of a shop, whose backend registers browsers with Fanfare.
struct DevPage: Sendable {
    /// The page's address; browsers allow service workers without TLS on this host.
    let address: String

    private let group: ServiceGroup
    private let running: Task<Void, any Error>

    /// Serves the page.
    ///
    /// - Parameters:
    ///   - backend: registers browsers.
    ///   - port: the port on loopback; 0 picks a free one.
    /// - Returns: the page; `stop()` must be called on it.
    /// - Throws: ``DevError`` if the port is not available.
    static func start(_ backend: DevBackend, port: Int) async throws -> DevPage {
        let quiet = Logger(label: "page") { _ in SwiftLogNoOpLogHandler() }
        let (ports, heard) = AsyncStream.makeStream(of: Int.self)
        let application = Application(
            responder: DevPageDoor(backend: backend),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: port)),
            onServerRunning: { channel in heard.yield(channel.localAddress?.port ?? port) },
            logger: quiet
        )
        var settings = ServiceGroupConfiguration(services: [.init(service: application)], logger: quiet)
        // A browser may keep a connection open while its page is open.
        settings.maximumGracefulShutdownDuration = .seconds(2)
        let group = ServiceGroup(configuration: settings)
        // Awaited by `stop()`.
        let running = Task {
            defer { heard.finish() }
            try await group.run()
        }
        guard let port = await ports.first(where: { _ in true }) else {
            running.cancel()
            _ = await running.result
            try Task.checkCancellation()
            throw DevError(
                description: "The page cannot be served at port \(port) of 127.0.0.1; is something else there?"
            )
        }
        return DevPage(address: "http://localhost:\(port)", group: group, running: running)
    }

    /// Stops the server, and waits for its end.
    func stop() async {
        await group.triggerGracefulShutdown()
        _ = await running.result
    }
}
