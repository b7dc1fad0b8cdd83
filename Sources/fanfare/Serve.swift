import ArgumentParser
import FanfareService
import Foundation
import Logging
import ServiceLifecycle
import UnixSignals

/// `fanfare serve`: the daemon.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Run the daemon.")

    @OptionGroup var options: GlobalOptions

    func run() async throws {
        let configuration = try options.load()
        let output = LogOutput(configuration.log)
        defer { _ = output.close() }
        let logger = output.logger()
        let environment = ProcessInfo.processInfo.environment
        let daemon = try Daemon(
            configuration: configuration,
            environment: environment,
            version: Fanfare.version,
            logger: logger
        )
        try daemon.checkDatabase()
        let group = ServiceGroup(
            configuration: .init(services: daemon.services.map { .init(service: $0) }, logger: logger)
        )
        let notifier = SystemdNotifier(environment: environment, processID: getpid(), logger: logger)
        async let listening: Void = {
            if await daemon.waitUntilListening() { notifier.ready(status: "listening") }
        }()
        _ = try await group.run(
            signals: UnixSignalsSequence(trapping: ServiceGroup.daemonSignals),
            notifier: notifier,
            logger: logger,
            reload: {}
        )
        await listening
    }
}
