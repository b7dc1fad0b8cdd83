import ArgumentParser
import FanfareCore
import FanfareTools

/// `fanfare feedback`: the state of the feedback hooks.
struct Feedback: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the progress of feedback hooks, and resend to one.",
        subcommands: [List.self, Replay.self, Resume.self, Forget.self],
        defaultSubcommand: List.self
    )
}

/// The hook of a command.
struct FeedbackHookArgument: ParsableArguments {
    @Argument(help: "Its name in the configuration.")
    var hook: String
}

extension Feedback {
    /// `fanfare feedback list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the hooks with backlog, lag and last error."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        func run() async throws {
            let hooks = try await options.withDatabase { database throws(ToolError) in
                try await database.feedbackHooks()
            }
            try options.show(.array(hooks.map(\.json)), FeedbackState.table(hooks))
        }
    }

    /// `fanfare feedback replay`.
    struct Replay: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Resend to a hook what it was sent since then.",
            discussion: """
                With new ids, which the receiver accepts. Nothing was recorded before the hook existed. Needs the \
                role fanfare_operator.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var which: FeedbackHookArgument

        @Option(help: "How long ago, as 90s, 15m, 2h or 7d, or a time such as 2026-11-21T13:00:00Z.")
        var since: String

        func run() async throws {
            let (hook, since) = (which.hook, Since(since))
            let batches = try await options.withDatabase { database throws(ToolError) in
                try await database.replayFeedback(hook, since: since)
            }
            try options.show(
                ["hook": .string(hook), "batches": .number(JSONNumber(batches))],
                "\(hook): resending \(batches) batches"
            )
        }
    }

    /// `fanfare feedback resume`.
    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Retry a hook at once, also one that was stopped by a 410 response.",
            discussion: "Needs the role fanfare_operator."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var which: FeedbackHookArgument

        func run() async throws {
            let hook = which.hook
            try await options.withDatabase { database throws(ToolError) in try await database.resumeFeedback(hook) }
            try options.show(["hook": .string(hook)], "\(hook): retrying now")
        }
    }

    /// `fanfare feedback forget`.
    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget the progress of a hook that was removed from the configuration.",
            discussion: """
                One that a daemon still has configured starts over, with new outcomes. Needs the role fanfare_operator.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var which: FeedbackHookArgument

        func run() async throws {
            let hook = which.hook
            try await options.withDatabase { database throws(ToolError) in try await database.forgetFeedback(hook) }
            try options.show(["hook": .string(hook)], "\(hook): forgotten")
        }
    }
}
