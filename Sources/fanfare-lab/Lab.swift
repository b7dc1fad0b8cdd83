import ArgumentParser
import FanfareService

/// The command `fanfare-lab`, which `fanfare dev`, `fanfare sandbox` and `fanfare bench` start: what a machine that only sends
/// pushes has no use for, the simulated providers above all.
struct Lab: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        // As whose part it is called.
        commandName: "fanfare",
        abstract: "Try, simulate and measure Fanfare.",
        version: Program.version,
        subcommands: [Dev.self, SandboxCommand.self, BenchCommand.self]
    )
}
