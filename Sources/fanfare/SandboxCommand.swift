import ArgumentParser
import Foundation
import PushSandbox
import UnixSignals

/// `fanfare sandbox`: the simulated providers.
struct SandboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sandbox",
        abstract: "Simulate the push providers on loopback."
    )

    @OptionGroup var options: GlobalOptions

    @Option(help: "The folder for keys, certificates and what was received.")
    var dir: String

    @Option(help: "A JSON file of faults to begin with.")
    var faults: String?

    @Flag(help: "Keep counts only, not what was received.")
    var sink = false

    @Option(help: "The TLS port; 0 takes a free one.")
    var port = 0

    @Option(help: "The control port; 0 takes a free one.")
    var controlPort = 0

    func run() async throws {
        var options = SandboxOptions(directory: dir)
        options.tlsPort = port
        options.controlPort = controlPort
        options.sink = sink
        options.databaseURL = ProcessInfo.processInfo.environment["DATABASE_URL"]
        if let faults { options.faults = Array(try Data(contentsOf: URL(fileURLWithPath: faults))) }
        let sandbox = try await PushSandbox.start(options)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        FileHandle.standardOutput.write(try encoder.encode(sandbox.ready) + Data("\n".utf8))
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        for await _ in signals { break }
        await sandbox.stop()
    }
}
