import FanfareAPI
import FanfareConfiguration
import FanfareCore
internal import FanfareDaemon
internal import FanfareLogging
import FanfareMetrics
internal import FanfareProviders
import FanfareService
import FanfareStore
import FanfareTools
import Foundation
import Logging
internal import PushCrypto
import ServiceLifecycle
import Threading

/// A daemon in this process, with its log in a file.
struct DevDaemon: Sendable {
    /// The daemon's HTTP API.
    let api: DevAPI
    /// The VAPID public key that browsers use to subscribe to the demo.
    let webPushKey: String

    private let group: ServiceGroup
    private let running: Task<Void, any Error>
    private let output: LogOutput
    private let log: String
    private let hasEnded: Locked<Bool>

    /// Loads the schema, adopts the database and starts the daemon.
    ///
    /// - Parameters:
    ///   - configurationFile: the configuration that the sandbox wrote.
    ///   - apiPort: the port of its HTTP API; 0 for a free one.
    ///   - directory: the folder for the log.
    ///   - console: shows each step.
    /// - Returns: the daemon, which is listening for notifications.
    /// - Throws: the error that keeps it from running.
    static func start(
        _ configurationFile: String,
        apiPort: Int,
        in directory: String,
        console: DevConsole
    ) async throws -> DevDaemon {
        // The environment is ignored, so that no variable outside changes the result.
        let flags = [
            "log.format": "text", "log.deliveries": "all", "api.listen": "127.0.0.1:\(apiPort)",
            // A browser that subscribes on the demo's page uses the push service of its vendor.
            "apps.\(DevDemo.app).webpush.allowed_hosts": (["localhost"] + WebPushSettings.services).joined(
                separator: ","
            ),
        ]
        let configuration = try Configuration.load(file: configurationFile, environment: [:], flags: flags)
        var began = ContinuousClock.now
        _ = try await onThread { try DatabaseSetup(configuration, environment: [:]).migrate() }
        console.step("schema", "fanfare, version \(Schema.versions.upperBound)", since: began)

        began = .now
        let log = directory + "/fanfare.log"
        let output = try LogOutput(configuration.log, replacing: log)
        let logger = output.logger()
        let metrics = MetricsRegistry(describing: Daemon.metrics)
        let daemon = try Daemon(
            configuration: configuration,
            environment: [:],
            version: Program.version,
            logger: logger,
            metrics: metrics
        )
        try await onThread { try daemon.checkDatabase() }
        let (places, heard) = AsyncStream.makeStream(of: ListenAddress.self)
        let listener = try APIListener { heard.yield($0) }.open(
            at: .tcp(host: "127.0.0.1", port: apiPort),
            for: ListenedDaemon(
                environment: [:],
                version: Program.version,
                logger: logger,
                metrics: metrics,
                configuration: { configuration },
                readiness: { daemon.readiness }
            ),
            onlyHealth: false
        )
        var settings = ServiceGroupConfiguration(
            services: (daemon.services + [listener]).map { .init(service: $0) },
            logger: logger
        )
        settings.maximumGracefulShutdownDuration = .seconds(10)
        let group = ServiceGroup(configuration: settings)
        let hasEnded = Locked(false)
        // Awaited by `stop()`.
        let running = Task {
            defer {
                hasEnded.withLock { $0 = true }
                heard.finish()
            }
            try await group.run()
        }
        do {
            guard await daemon.waitUntilListening(),
                case .tcp(let host, let port)? = await places.first(where: { _ in true })
            else {
                try Task.checkCancellation()
                throw DevError(description: "The daemon did not come up within 10 s; \(log) says why.")
            }
            console.step("daemon", "logs to \(log)", since: began)
            let api = try await DevAPI.open(at: (host, port), configuration, in: directory)
            console.step("api", "http://\(host):\(port), token in \(api.tokenFile)", since: began)
            let keyFile = configuration.apps[DevDemo.app]?.webPush?.vapidKeyFile ?? ""
            let key = try VAPIDKey.load(pemFile: keyFile).publicKey
            return DevDaemon(
                api: api,
                webPushKey: key,
                group: group,
                running: running,
                output: output,
                log: log,
                hasEnded: hasEnded
            )
        } catch {
            await stop(group, running, output)
            throw error
        }
    }

    /// Throws if the daemon has ended.
    func check() throws {
        if hasEnded.withLock({ $0 }) {
            throw DevError(description: "The daemon has ended; \(log) says why.")
        }
    }

    /// Stops the daemon gracefully, and waits for its end.
    func stop() async {
        await Self.stop(group, running, output)
    }

    private static func stop(_ group: ServiceGroup, _ running: Task<Void, any Error>, _ output: LogOutput) async {
        await group.triggerGracefulShutdown()
        // The log has its error.
        _ = await running.result
        output.close()
    }
}
