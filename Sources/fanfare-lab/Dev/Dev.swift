import ArgumentParser
import FanfareService
import Foundation
import PushSandbox
import UnixSignals

/// `fanfare dev`: database, sandbox, daemon and demo, without configuration.
struct Dev: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Run everything with nothing configured: PostgreSQL, simulated push services, the daemon and a demo.",
        discussion: """
            Shows the pushes that an UPDATE causes on a device of each provider, then waits for yours until Ctrl-C. All files \
            are kept in one folder; delete it to start over. Nothing leaves this machine: the devices and the push service are simulated, \
            unless you open the demo's page and have your browser subscribe, at the push service of its maker.
            """
    )

    @Flag(help: "Show the pushes of one event, then end.")
    var once = false

    @Option(help: "The folder for the database, keys and logs.")
    var dir = ".fanfare"

    @Option(help: "The TLS port of the simulated services; 0 takes a free one.")
    var port = 0

    @Option(help: "The port of the sandbox's control interface; 0 takes a free one.")
    var controlPort = 0

    @Option(help: "The port of the daemon's HTTP API and its console; 0 takes a free one.")
    var apiPort = 0

    @Option(help: "The port of the demo's page; 0 takes a free one.")
    var pagePort = 0

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm, .sighup)
        // Awaited below; a task of its own, so that the first signal can end it and a second one need not wait.
        let session = Task { try await show() }
        // Ended below; it only waits for signals.
        let watcher = Task {
            for await _ in signals {
                // The database server ends with this process in every case. No exit handlers: threads are still
                // running.
                if session.isCancelled { _exit(130) }
                session.cancel()
            }
        }
        defer { watcher.cancel() }
        do {
            try await session.value
        } catch is CancellationError {
            throw ExitCode(130)
        }
    }

    /// Starts everything, shows the demo's push and, unless only one was requested, the pushes after it.
    private func show() async throws {
        let console = DevConsole()
        console.line("Fanfare \(Program.version), everything at once in \(dir)")
        console.line()
        let stack = try await DevStack.start(
            in: dir,
            ports: .init(push: port, control: controlPort, api: apiPort, page: pagePort),
            console: console
        )
        do {
            try await tour(stack, console)
        } catch {
            await stack.stop()
            throw error
        }
        await stack.stop()
        console.line()
        let kept = stack.keepsDatabase ? "the database and the logs" : "the logs, but no database"
        console.line("Stopped. \(dir) holds \(kept); delete it to start over.")
    }

    private func tour(_ stack: DevStack, _ console: DevConsole) async throws {
        let demo = try DevDemo(databaseURL: stack.databaseURL, sandbox: stack.sandbox)
        let began = ContinuousClock.now
        try await onThread { try demo.prepare() }
        console.step(
            "demo",
            "table orders is watched, two rules are in force, 3 customers, \(demo.deviceCount) devices",
            since: began
        )
        console.line()

        let tour = DevTour(demo: demo, sandbox: stack.sandbox, console: console)
        let last = try await tour.showFirstPushes()
        guard !once else { return }
        console.hints(stack, dir)
        do {
            try await tour.showPushes(after: last) { try stack.checkDaemon() }
        } catch is CancellationError {
            // Ctrl-C is the normal end.
        }
    }
}

/// An error that ends `fanfare dev`.
struct DevError: Error, CustomStringConvertible {
    let description: String
}
