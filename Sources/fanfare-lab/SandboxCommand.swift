import ArgumentParser
import FanfareService
import FanfareTools
import Foundation
import PushSandbox
import UnixSignals

/// `fanfare sandbox`: the simulated providers.
struct SandboxCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sandbox",
        abstract: "Simulate the push providers on loopback.",
        discussion: """
            Prints a line of JSON with ports and files once it is ready. Its control port speaks plain HTTP on loopback: \
            GET /received, GET /counts, GET, POST and DELETE /faults, POST /subscriptions, GET /devices. Bodies are sent as JSON:
            curl -H 'Content-Type: application/json' -d '[{"do": "goaway"}]' http://127.0.0.1:PORT/faults
            """
    )

    @Option(help: "The folder for keys, certificates and received pushes.")
    var dir: String

    @Option(help: "A JSON file of faults to begin with.")
    var faults: String?

    @Flag(help: "Keep counts only, not the received pushes.")
    var sink = false

    @Option(help: "The app in the written configuration.")
    var app = "demo"

    @Option(help: "The TLS port; 0 takes a free one.")
    var port = 0

    @Option(help: "The TLS port of APNs' sandbox environment; 0 takes a free one.")
    var sandboxPort = 0

    @Option(help: "The control port; 0 takes a free one.")
    var controlPort = 0

    @Option(help: "A provider whose block the written configuration gets; may be repeated. All by default.")
    var configure: [String] = []

    @Option(help: "Seconds until FCM's access tokens expire; the advertised lifetime is 3599.")
    var accessTokenLifetime: Int?

    @Option(help: "Messages that FCM takes per minute; any number by default.")
    var projectQuota: Int?

    @Option(help: "Messages that FCM takes per minute and device; any number by default.")
    var deviceQuota: Int?

    @Option(help: "Changes to FCM's topics that it takes a second; any number by default.")
    var topicQuota: Int?

    @Option(help: "FCM's answer to the 2,001st topic of a registration: 400 or 429.")
    var topicLimitStatus = 400

    func run() async throws {
        var options = SandboxOptions(directory: dir)
        options.appName = app
        options.tlsPort = port
        options.sandboxTLSPort = sandboxPort
        options.controlPort = controlPort
        options.sink = sink
        options.databaseURL = ProcessInfo.processInfo.environment["DATABASE_URL"]
        if !configure.isEmpty { options.configuredProviders = Set(configure) }
        if let accessTokenLifetime { options.accessTokenLifetime = accessTokenLifetime }
        options.projectQuota = projectQuota
        options.deviceQuota = deviceQuota
        options.topicQuota = topicQuota
        options.topicLimitStatus = topicLimitStatus
        if let faults { options.faults = try Self.contents(of: faults) }
        let sandbox = try await PushSandbox.start(options)
        if let warning = Self.warning(of: sandbox.ready) { FileHandle.standardError.write(Data((warning + "\n").utf8)) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        FileHandle.standardOutput.write(try encoder.encode(sandbox.ready) + Data("\n".utf8))
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        for await _ in signals { break }
        await sandbox.stop()
    }

    /// Returns a warning if a configuration that was not replaced names other ports.
    private static func warning(of ready: SandboxReady) -> String? {
        let origin = "https://localhost:"
        guard let text = try? String(contentsOfFile: ready.configFile, encoding: .utf8),
            text.contains(origin), !text.contains("\(origin)\(ready.tlsPort)")
        else { return nil }
        return """
            warning: \(ready.configFile) is your own and was kept, but no endpoint in it is \(origin)\(ready.tlsPort); \
            start with the ports that it names (--port, --sandbox-port), or remove it to have it written.
            """
    }

    private static func contents(of path: String) throws -> [UInt8] {
        do {
            return Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            let isMissing = !FileManager.default.fileExists(atPath: path)
            throw ToolError(
                .usage,
                "--faults: \(isMissing ? "there is no such file" : error.localizedDescription)",
                at: path,
                hint: #"Name a JSON file with a list of faults, such as [{"do": "goaway"}]."#
            )
        }
    }
}

extension ToolError {
    /// Converts the sandbox's error.
    init(_ error: SandboxError) {
        let kind: Kind =
            switch error.code {
            case .invalidOption, .malformedFaults: .usage
            case .listen: .unavailable
            case .folder, .noLedger: .failed
            }
        self.init(kind, error.description)
    }
}
