import ArgumentParser
import FanfareService
import FanfareTools
import Foundation

/// `fanfare dev`: everything at once, with nothing configured.
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

/// A command of the program `fanfare-lab`, which takes the place of this one.
protocol LabCommand: ParsableCommand {
    /// What follows the command's name; the other program's to read.
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

/// The program that simulates, tries and measures, and is not needed where pushes are only sent.
enum LabProgram {
    private static let name = "fanfare-lab"

    /// Makes this process the other program: same process id, same streams.
    ///
    /// - Parameters:
    ///   - command: what it is to do.
    ///   - arguments: of the command.
    /// - Throws: ``ToolError`` if it is not there; otherwise this never returns.
    static func become(_ command: String, _ arguments: [String]) throws -> Never {
        let words = [CommandLine.arguments[0], command] + arguments
        // Ours to free only if there is no such program, and this one ends then.
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

    /// Where it may be: beside this one, or where packages put programs that others start.
    private static var places: [String] {
        let own = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        return [name, "../libexec/fanfare/" + name, "../lib/fanfare/" + name].map {
            own.appendingPathComponent($0).standardizedFileURL.path
        }
    }
}
