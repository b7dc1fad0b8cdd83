import ArgumentParser
import FanfareConfiguration
import FanfareCore
internal import FanfareLogging
import FanfareService
import FanfareTools
import Foundation

/// `fanfare status`: the state of the daemons.
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show daemons, queues, health, and when credentials expire.",
        discussion: """
            What a daemon says of itself is as old as its last heartbeat, at most five seconds. Credentials are those that \
            the configuration names, as their files on this machine say.
            """
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Flag(help: "Show it again every two seconds, until Ctrl-C.")
    var watch = false

    /// The interval of `--watch`; heartbeats, which change the figures, come every five seconds.
    private static let pause = Duration.seconds(2)

    func run() async throws {
        let configuration = try options.load(forDatabase: true)
        let database = try ToolDatabase(configuration, environment: options.environment)
        try await database.whileOpen { database throws(any Error) in
            if watch { try await follow(database, configuration) }
            try await show(database, configuration)
        }
    }

    /// Shows the status repeatedly.
    ///
    /// - Throws: any error except an outage of the database.
    private func follow(_ database: ToolDatabase, _ configuration: Configuration) async throws -> Never {
        let style = options.style
        while true {
            // Moves the cursor home and clears below it; clearing the whole screen would flicker.
            if style.obeysEscapes && !options.json { try options.write("\u{1B}[H\u{1B}[J", end: "") }
            do {
                try await show(database, configuration)
            } catch let error as ToolError where error.kind == .unavailable {
                // An outage is shown, and watching continues.
                try options.write(error.description)
            }
            if !style.obeysEscapes && !options.json { try options.write("") }
            try await Task.sleep(for: Self.pause)
        }
    }

    private func show(_ database: ToolDatabase, _ configuration: Configuration) async throws {
        let report = try await database.status()
        let now = Int64(Date().timeIntervalSince1970)
        let credentials = configuration.credentialExpiries(environment: options.environment, now: now)
        var json = report.json.objectValue ?? JSONObject()
        json["credentials"] = .array(credentials.map(\.json))
        let texts = [report.text, CredentialExpiry.text(credentials, now: now)].filter { !$0.isEmpty }
        try options.show(.object(json), texts.joined(separator: "\n\n"))
    }
}
