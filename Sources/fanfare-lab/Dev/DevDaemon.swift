import FanfareConfiguration
internal import FanfareLogging
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
        let flags = ["log.format": "text", "log.deliveries": "all"]
        let configuration = try Configuration.load(file: configurationFile, environment: [:], flags: flags)
        var began = ContinuousClock.now
        try await onThread { try DatabaseSetup(configuration, environment: [:]).migrate() }
        console.step("schema", "fanfare, version \(Schema.versions.upperBound)", since: began)

        began = .now
        let log = directory + "/fanfare.log"
        let output = try LogOutput(configuration.log, replacing: log)
        let logger = output.logger()
        let daemon = try Daemon(
            configuration: configuration,
            environment: [:],
            version: Program.version,
            logger: logger
        )
        try await onThread { try daemon.checkDatabase() }
        var settings = ServiceGroupConfiguration(
            services: daemon.services.map { .init(service: $0) },
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
        return started
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
