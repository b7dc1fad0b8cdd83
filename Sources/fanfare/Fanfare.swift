import ArgumentParser

/// The command `fanfare`.
struct Fanfare: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "fanfare",
        abstract: "Push-notification fan-out from PostgreSQL.",
        version: version,
        subcommands: [
            Serve.self, Dev.self, Migrate.self, Adopt.self, Check.self, Status.self, Emit.self, Devices.self,
            Topics.self, Channels.self, Rules.self, Tail.self, Explain.self, VAPIDKeys.self, SandboxCommand.self,
            BenchCommand.self, Version.self, Manual.self,
        ]
    )
}
