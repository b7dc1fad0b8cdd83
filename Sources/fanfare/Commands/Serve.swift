import ArgumentParser
import CoreMetrics
import FanfareAPI
import FanfareConfiguration
import FanfareCore
internal import FanfareDaemon
internal import FanfareLogging
import FanfareMetrics
import FanfareService
import FanfareTools
import Foundation
import ServiceLifecycle
import UnixSignals

/// `fanfare serve`: the daemon.
struct Serve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run the daemon.",
        discussion: """
            TERM drains for at most 25 s; INT or a second TERM stops at once, with exit code 130 or 143. HUP reads the \
            configuration again.
            --json is short for --log-format json.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Option(help: "How long an unreachable database is waited for at the start.")
    var waitForDatabase = TimeSpan(seconds: 30)

    func run() async throws {
        var options = options
        if options.json { options.logFormat = "json" }
        // Fixes the file, so that a reload reads the same one even if a file appears at an earlier default path.
        options.config = options.file
        let configuration: Configuration
        do {
            configuration = try options.load()
        } catch {
            throw Self.end(with: error, LogOutput(options.logBeforeConfiguration))
        }
        let output = LogOutput(configuration.log)
        defer { output.close() }
        do {
            try await serve(configuration, options, output)
        } catch {
            throw Self.end(with: error, output)
        }
    }

    /// Logs why the daemon ends, if a program reads its log.
    ///
    /// - Returns: the error to throw: the original one if it is to be printed for people.
    private static func end(with error: any Error, _ output: LogOutput) -> any Error {
        guard !(error is ExitCode), output.tell(fatal: error) else { return error }
        output.close()
        return ExitCode(ToolError(error).exitCode)
    }

    private func serve(
        _ configuration: Configuration,
        _ options: GlobalOptions,
        _ output: LogOutput
    ) async throws {
        // Must run once per process and before anything is counted, so that the metrics of libraries are in this
        // registry too.
        let metrics = MetricsRegistry(describing: Daemon.metrics)
        MetricsSystem.bootstrap(metrics)
        let run = try DaemonRun(
            configuration: configuration,
            environment: options.environment,
            version: Program.version,
            output: output,
            metrics: metrics,
            notifier: SystemdNotifier(
                environment: options.environment,
                processID: getpid(),
                logger: output.logger()
            ),
            listener: APIListener(),
            load: { () throws(ConfigurationError) in try options.load() }
        )
        // SIGHUP's default action would end a daemon that still waits for its database; SIGTERM and SIGINT may end it.
        let reloads = await UnixSignalsSequence(trapping: .sighup)
        try await run.checkDatabase(patience: .seconds(waitForDatabase.seconds))
        let signals = await UnixSignalsSequence(trapping: ServiceGroup.daemonSignals)
        withExtendedLifetime(reloads) {}
        _ = try await run.run(signals: signals) { signal in
            output.close(timeout: .seconds(1))
            // `_exit` skips exit handlers, because the services' threads are still running.
            _exit(ExitStatus.stopped(by: signal))
        }
    }
}
