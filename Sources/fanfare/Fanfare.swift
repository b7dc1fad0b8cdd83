import ArgumentParser
import FanfareService

/// The command `fanfare`.
struct Fanfare: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fanfare",
        abstract: "Push-notification fan-out from PostgreSQL.",
        version: Program.version,
        subcommands: [
            Serve.self, Dev.self, Migrate.self, Adopt.self, Check.self, Status.self, Emit.self, Send.self,
            Scheduled.self,
            Devices.self,
            Topics.self, Channels.self, Rules.self, Campaigns.self, Policies.self, Preferences.self, Tokens.self,
            Tail.self,
            Explain.self, Why.self, Reports.self, Replay.self, Retract.self, Feedback.self,
            VAPIDKeys.self,
            Sandbox.self,
            Bench.self, Version.self, Manual.self,
        ]
    )

    /// Returns whether a command belongs to the program `fanfare-lab`.
    static func isOfLab(_ name: String) -> Bool {
        configuration.subcommands.contains { $0 is any LabCommand.Type && $0._commandName == name }
    }
}
