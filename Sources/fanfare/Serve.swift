import ArgumentParser
import CoreMetrics
import FanfareAPI
import FanfareConfiguration
import FanfareCore
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
        // A reload reads this one again, whatever appears in a place that is looked at before it.
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

    /// Tells why the daemon ends where its log is read, if that is a program.
    ///
    /// - Returns: what to throw: the error itself if a person is to be told.
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
        // Once in a process, and before anything counts: what libraries count is found there too.
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
        // Its default would end a daemon that still waits for its database; TERM and INT may.
        let reloads = await UnixSignalsSequence(trapping: .sighup)
        try await run.checkDatabase(patience: .seconds(waitForDatabase.seconds))
        let signals = await UnixSignalsSequence(trapping: ServiceGroup.daemonSignals)
        withExtendedLifetime(reloads) {}
        _ = try await run.run(signals: signals) { signal in
            output.close(timeout: .seconds(1))
            // No exit handlers: the services' threads are still running.
            _exit(ExitStatus.stopped(by: signal))
        }
    }
}
