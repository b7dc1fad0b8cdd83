import ArgumentParser
import FanfareService

/// The command `fanfare-lab`, which `fanfare dev`, `fanfare sandbox` and `fanfare bench` start.
///
/// It has what a machine that only sends pushes does not need, mainly the simulated providers.
struct Lab: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        // Shown as a part of `fanfare`.
        commandName: "fanfare",
        abstract: "Try, simulate and measure Fanfare.",
        version: Program.version,
        subcommands: [Dev.self, SandboxCommand.self, BenchCommand.self, StatementsCommand.self]
    )
}
