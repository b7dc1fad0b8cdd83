import FanfareAPI
import FanfareConfiguration
import FanfareCore
internal import FanfareLogging
import FanfareMetrics
internal import FanfareProviders
import FanfareService
import FanfareStore
import FanfareTools
import Foundation
import Logging
import ServiceLifecycle
import Threading

/// A daemon in this process, with its log in a file.
struct DevDaemon: Sendable {
    private let group: ServiceGroup
    private let running: Task<Void, any Error>
    private let output: LogOutput
    private let log: String
    private let hasEnded: Locked<Bool>

    /// Loads the schema, adopts the database and starts the daemon.
    ///
    /// - Parameters:
    ///   - configurationFile: what the sandbox wrote.
    ///   - directory: for the log.
    ///   - console: told about each step.
    /// - Returns: the daemon, hearing notifications.
    /// - Throws: why it cannot run.
    static func start(
        _ configurationFile: String,
        in directory: String,
        console: DevConsole
    ) async throws -> DevDaemon {
        // Without the environment: nothing configured means that nothing outside can steer it.
        let flags = ["log.format": "text", "log.deliveries": "all", "api.listen": "127.0.0.1:0"]
        let configuration = try Configuration.load(file: configurationFile, environment: [:], flags: flags)
        var began = ContinuousClock.now
        try await onThread { try DatabaseSetup(configuration, environment: [:]).migrate() }
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
        let place = Locked<ListenAddress?>(nil)
        let api = try APIListener { address in place.withLock { $0 = address } }.open(
            at: .tcp(host: "127.0.0.1", port: 0),
            for: ListenedDaemon(
                environment: [:],
                version: Program.version,
                logger: logger,
                metrics: metrics,
                configuration: { configuration },
                readiness: { daemon.readiness }
            )
        )
        var settings = ServiceGroupConfiguration(
            services: (daemon.services + [api]).map { .init(service: $0) },
            logger: logger
        )
        settings.maximumGracefulShutdownDuration = .seconds(10)
        let group = ServiceGroup(configuration: settings)
        let hasEnded = Locked(false)
        // Awaited by `stop()`.
        let running = Task {
            defer { hasEnded.withLock { $0 = true } }
            try await group.run()
        }
        let started = DevDaemon(group: group, running: running, output: output, log: log, hasEnded: hasEnded)
        guard await daemon.waitUntilListening() else {
            await started.stop()
            try Task.checkCancellation()
            throw DevError(description: "The daemon did not come up within 10 s; \(log) says why.")
        }
        console.step("daemon", "logs to \(log)", since: began)
        if let address = place.withLock({ $0 }) {
            let token = try await makeToken(configuration, in: directory)
            console.step("api", "http://\(address), token in \(token)", since: began)
        }
        return started
    }

    /// Makes a token that allows everything, and keeps it where only its owner reads it.
    private static func makeToken(_ configuration: Configuration, in directory: String) async throws -> String {
        let request = APITokenRequest(name: "dev", scopes: TokenScope.allCases)
        let database = try ToolDatabase(configuration, environment: [:])
        let token = try await database.whileOpen { database throws(ToolError) in
            // That of the last time is in no file any more.
            for row in try await database.tokens(onlyValid: true) where row.name == request.name {
                _ = try await database.revokeToken(row.id)
            }
            return try await database.createToken(request)
        }
        let file = directory + "/api-token"
        try? FileManager.default.removeItem(atPath: file)
        let isWritten = FileManager.default.createFile(
            atPath: file,
            contents: Data((token.text + "\n").utf8),
            attributes: [.posixPermissions: 0o600]
        )
        guard isWritten else { throw DevError(description: "\(file) cannot be written.") }
        return file
    }

    /// Throws once the daemon is no longer there.
    func check() throws {
        if hasEnded.withLock({ $0 }) {
            throw DevError(description: "The daemon has ended; \(log) says why.")
        }
    }

    /// Lets the daemon finish what it has begun, and waits for its end.
    func stop() async {
        await group.triggerGracefulShutdown()
        // What it failed from is in the log.
        _ = await running.result
        output.close()
    }
}
