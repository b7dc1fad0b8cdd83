import ArgumentParser
import FanfareCore
internal import FanfareProviders
import FanfareService
import FanfareTools

/// `fanfare topics`: the topics that FCM manages.
struct Topics: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Subscribe devices to FCM's own topics, or end that.",
        discussion: """
            For rules with `to: { fcm_topic: … }` or `fcm_condition`: FCM, not Fanfare, stores the subscribers. Topics of \
            Fanfare are changed by `fanfare devices subscribe` and in SQL.
            """,
        subcommands: [Subscribe.self, Unsubscribe.self]
    )

    /// The devices of a command.
    struct Selection: ParsableArguments {
        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Argument(help: "FCM's topic.")
        var topic: String

        @Option(help: "The app.")
        var app: String

        @Option(help: "Subscribers of this topic of Fanfare's.")
        var subscribersOf: String?

        @Option(help: "Devices of this user; may be repeated.")
        var user: [String] = []

        @Flag(help: "All of the app's FCM devices.")
        var all = false

        @Flag(help: "Only count them.")
        var dryRun = false

        func validate() throws {
            guard all != (subscribersOf != nil || !user.isEmpty) else {
                throw ValidationError("Give --subscribers-of, --user, or --all.")
            }
        }

        func set(_ isSubscribed: Bool) async throws {
            let configuration = try options.load()
            var filter = FCMDeviceFilter(app: app)
            filter.topic = subscribersOf
            filter.users = user.isEmpty ? nil : user
            let database = try ToolDatabase(configuration, environment: options.environment)
            var manager = try TopicManager(configuration, app: app, environment: options.environment)
            var tally = TopicTally()
            var count = 0
            try await database.whileOpen { database throws(ToolError) in
                try await database.forEachToken(filter) { tokens throws(ToolError) in
                    count += tokens.count
                    // Blocks the thread, which has no other work.
                    if !dryRun { tally += try manager.set(tokens, of: topic, isSubscribed) }
                }
            }
            guard !dryRun else {
                return try options.show(["devices": .number(JSONNumber(Int64(count)))], "\(count) devices")
            }
            try options.show(tally.json, tally.text)
            if !tally.isComplete { throw ExitCode.failure }
        }
    }

    /// `fanfare topics subscribe`.
    struct Subscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Subscribe devices to one of FCM's topics.")

        @OptionGroup var selection: Selection

        func run() async throws { try await selection.set(true) }
    }

    /// `fanfare topics unsubscribe`.
    struct Unsubscribe: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End devices' subscriptions to one of FCM's topics.")

        @OptionGroup var selection: Selection

        func run() async throws { try await selection.set(false) }
    }
}
