import ArgumentParser
import FanfareService
import FanfareTools
import Foundation

/// `fanfare dev`: a complete trial installation, without configuration.
struct Dev: LabCommand {
    static let configuration: CommandConfiguration = .lab(
        "dev",
        "Run everything with nothing configured: PostgreSQL, simulated push services, the daemon and a demo."
    )

    @Argument(parsing: .captureForPassthrough, help: ArgumentHelp(visibility: .hidden)) var arguments: [String] = []
}

/// `fanfare sandbox`: the simulated providers.
struct Sandbox: LabCommand {
    static let configuration: CommandConfiguration = .lab("sandbox", "Simulate the push providers on loopback.")

    @Argument(parsing: .captureForPassthrough, help: ArgumentHelp(visibility: .hidden)) var arguments: [String] = []
}

/// `fanfare bench`: measures this machine.
struct Bench: LabCommand {
    static let configuration: CommandConfiguration = .lab(
        "bench",
        "Measure the daemon, or its transport alone, on this machine."
    )

    @Argument(parsing: .captureForPassthrough, help: ArgumentHelp(visibility: .hidden)) var arguments: [String] = []
}

/// A command of the program `fanfare-lab`, which replaces this process.
protocol LabCommand: ParsableCommand {
    /// The arguments after the command's name, which the other program parses.
    var arguments: [String] { get }
}

extension LabCommand {
    func run() throws {
        try LabProgram.become(Self._commandName, arguments)
    }
}

extension CommandConfiguration {
    /// Describes a command of the other program.
    fileprivate static func lab(_ name: String, _ abstract: String) -> CommandConfiguration {
        CommandConfiguration(
            commandName: name,
            abstract: abstract,
            discussion: "A part of the program fanfare-lab; `fanfare \(name) --help` lists its options."
        )
    }
}

/// The program for simulation, trials and benchmarks, which a production server does not need.
enum LabProgram {
    private static let name = "fanfare-lab"

    /// Replaces this process by the other program; process id and streams stay the same.
    ///
    /// - Parameters:
    ///   - command: the command's name.
    ///   - arguments: the command's arguments.
    /// - Throws: ``ToolError`` if the program is not found; otherwise it never returns.
    static func become(_ command: String, _ arguments: [String]) throws -> Never {
        let words = [CommandLine.arguments[0], command] + arguments
        // The copies are freed only if execv fails, and this process ends then.
        var copies = unsafe words.map { unsafe strdup($0) } + [nil]
        for path in places { _ = unsafe execv(path, &copies) }
        throw ToolError(
            .failed,
            "`fanfare \(command)` is a part of the program \(name), which is not installed",
            hint: """
                Install the package \(name); or put the program, which `swift build --product \(name)` makes, beside \
                fanfare.
                """
        )
    }

    /// The possible paths: beside this program, or in the folder where packages install internal programs.
    private static var places: [String] {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return [name, "../libexec/fanfare/" + name, "../lib/fanfare/" + name].map {
            own.appendingPathComponent($0).standardizedFileURL.path
        }
    }
}
