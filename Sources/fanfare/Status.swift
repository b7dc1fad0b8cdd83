import ArgumentParser
import FanfareCore
import FanfareService
import Foundation

/// `fanfare status`: what the daemons do.
struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show daemons, queues, health, and when credentials end.",
        discussion: """
            What a daemon says of itself is as old as its last heartbeat, at most five seconds. Credentials are those that \
            the configuration names, as their files on this machine say.
            """
    )

    @OptionGroup var options: GlobalOptions

    func run() throws {
        let configuration = try options.load()
        let report = try ToolDatabase(configuration, environment: options.environment).status()
        let now = Int64(Date().timeIntervalSince1970)
        let credentials = configuration.credentialExpiries(environment: options.environment, now: now)
        var json = report.json.objectValue ?? JSONObject()
        json["credentials"] = .array(credentials.map(\.json))
        let texts = [report.text, CredentialExpiry.text(credentials, now: now)].filter { !$0.isEmpty }
        try options.show(.object(json), texts.joined(separator: "\n\n"))
    }
}
