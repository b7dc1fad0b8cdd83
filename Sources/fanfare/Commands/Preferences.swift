import ArgumentParser
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// `fanfare preferences`: opt-outs and snoozes.
struct Preferences: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show and set opt-outs and snoozes.",
        subcommands: [Set.self, Snooze.self, Show.self]
    )
}

/// The user and app of a command.
struct UserOptions: ParsableArguments {
    @Option(help: "The app.")
    var app: String

    @Option(help: "The user.")
    var user: String
}

extension Preferences {
    /// `fanfare preferences set`.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Opt a user out of a category, or in again.",
            discussion: "It holds on all devices of the user, for all rules that have the category."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var user: UserOptions

        @Flag(help: "Whether its pushes are stopped.")
        var state: OptedState

        @Argument(help: "The category, as rules name it; * for all that have one.")
        var category: String

        func run() async throws {
            try await options.withDatabase { database throws(ToolError) in
                try await database.setPreference(
                    category,
                    of: user.user,
                    app: user.app,
                    isOptedOut: state == .optedOut
                )
            }
            let isOut = state == .optedOut
            try options.show(["opted_out": .bool(isOut)], isOut ? "opted out" : "opted in")
        }
    }

    /// `fanfare preferences snooze`.
    struct Snooze: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Snooze a category for a user.",
            discussion: """
                Pushes due meanwhile are dropped, or held where quiet hours have mode hold. Without --until a \
                snooze ends now.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var user: UserOptions

        @Option(help: "A duration such as 8h, or a time such as 2026-12-01T09:00:00Z.")
        var until: String?

        @Argument(help: "The category, as rules name it; * for all that have one.")
        var category = "*"

        func run() async throws {
            try await options.withDatabase { database throws(ToolError) in
                try await database.snooze(category, of: user.user, app: user.app, until: until)
            }
            let isSnoozed = until != nil
            try options.show(["snoozed": .bool(isSnoozed)], isSnoozed ? "snoozed" : "no longer snoozed")
        }
    }

    /// `fanfare preferences show`.
    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show a user's opt-outs and snoozes.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var user: UserOptions

        func run() async throws {
            let preferences = try await options.withDatabase { database throws(ToolError) in
                try await database.preferences(of: user.user, app: user.app)
            }
            try options.show(.array(preferences.map(\.json)), UserPreference.table(preferences))
        }
    }
}

/// `--opted-out` or `--opted-in`.
enum OptedState: String, EnumerableFlag {
    case optedOut, optedIn
}
