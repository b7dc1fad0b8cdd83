import ArgumentParser
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// `fanfare policies`: the limits for all of an app's pushes, from YAML files.
struct Policies: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plan, apply and list policies of apps: their rates, quiet hours, caps and time zones.",
        subcommands: [Plan.self, Apply.self, List.self]
    )
}

/// The policy files.
struct PolicyFileOptions: ParsableArguments {
    @Argument(
        help: "YAML files with policies; - reads standard input.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String]
}

extension Policies {
    /// `fanfare policies plan`.
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Check policies and show what applying would change.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var files: PolicyFileOptions
        @OptionGroup var change: PlanOptions

        func run() async throws {
            let set = try PolicySet(files: files.files)
            let plan = try await options.withDatabase { database throws(ToolError) in
                try await database.planPolicies(set)
            }
            try options.show(plan.json, plan.text)
            try change.end(plan.isEmpty)
        }
    }

    /// `fanfare policies apply`.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check and store policies, all of them or none.",
            discussion: """
                Each replaces the app's policy; {} is none. Daemons apply it within a second, also to what is \
                planned already.
                """
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var files: PolicyFileOptions

        func run() async throws {
            let set = try PolicySet(files: files.files)
            let plan = try await options.withDatabase { database throws(ToolError) in
                try await database.applyPolicies(set)
            }
            try options.show(plan.json, plan.text)
        }
    }

    /// `fanfare policies list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the policies of apps.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "Of this app only.")
        var app: String?

        func run() async throws {
            let policies = try await options.withDatabase { database throws(ToolError) in
                try await database.policies(app: app)
            }
            try options.show(.array(policies.map(\.json)), PolicyRow.table(policies))
        }
    }
}
