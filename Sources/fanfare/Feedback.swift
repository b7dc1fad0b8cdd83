import ArgumentParser
import FanfareCore
import FanfareTools

/// `fanfare feedback`: how far those are who are told what became of pushes.
struct Feedback: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "See how far feedback hooks are, and tell one of them once more.",
        subcommands: [List.self, Replay.self, Resume.self, Forget.self],
        defaultSubcommand: List.self
    )
}

/// Which hook.
struct FeedbackHookArgument: ParsableArguments {
    @Argument(help: "Its name in the configuration.")
    var hook: String
}

extension Feedback {
    /// `fanfare feedback list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List the hooks: what waits for each, for how long, and what is the matter."
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
            abstract: "Tell a hook once more what it was told since then.",
            discussion: """
                By ids of their own, so that the receiver takes them. Before a hook was known nothing was noted for it. Needs the \
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
                "\(hook) is told once more of \(batches) batches"
            )
        }
    }

    /// `fanfare feedback resume`.
    struct Resume: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Try a hook at once, also one that answered 410 and is told nothing since.",
            discussion: "Needs the role fanfare_operator."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var which: FeedbackHookArgument

        func run() async throws {
            let hook = which.hook
            try await options.withDatabase { database throws(ToolError) in try await database.resumeFeedback(hook) }
            try options.show(["hook": .string(hook)], "\(hook) is tried at once")
        }
    }

    /// `fanfare feedback forget`.
    struct Forget: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forget how far a hook is, when it is gone from the configuration.",
            discussion: """
                One that a daemon still has there begins anew, with what comes from then on. Needs the role fanfare_operator.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var which: FeedbackHookArgument

        func run() async throws {
            let hook = which.hook
            try await options.withDatabase { database throws(ToolError) in try await database.forgetFeedback(hook) }
            try options.show(["hook": .string(hook)], "\(hook) is forgotten")
        }
    }
}
