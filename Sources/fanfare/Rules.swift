import ArgumentParser
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// `fanfare rules`: rules from YAML files.
struct Rules: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plan, apply and list rules.",
        subcommands: [Plan.self, Apply.self, List.self]
    )
}

/// The rule files, and whether rules that are missing from them are dropped.
struct RuleFileOptions: ParsableArguments {
    @Argument(
        help: "YAML files with rules; - reads standard input.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String]

    @Flag(help: "Drop rules of these apps that came from files and are no longer in them.")
    var prune = false
}

extension Rules {
    /// `fanfare rules plan`.
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Check rules and show what applying would change.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var files: RuleFileOptions
        @OptionGroup var change: PlanOptions

        func run() async throws {
            let set = try RuleSet(files: files.files)
            let plan = try await options.withDatabase { database throws(ToolError) in
                try await database.planRules(set, prune: files.prune)
            }
            try options.show(plan.json, plan.text)
            try change.end(plan.isEmpty)
        }
    }

    /// `fanfare rules apply`.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check and store rules, all of them or none.",
            discussion: "A daemon checks each new version within a second; until then the version in force stays."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var files: RuleFileOptions

        func run() async throws {
            let set = try RuleSet(files: files.files)
            let applied = try await options.withDatabase { database throws(ToolError) in
                try await database.applyRules(set, prune: files.prune)
            }
            try options.show(applied.json, applied.text)
            if applied.hasRefused { throw ExitCode.failure }
        }
    }

    /// `fanfare rules list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List rules, each with its newest version.")

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "Of this app only.")
        var app: String?

        func run() async throws {
            let rules = try await options.withDatabase { database throws(ToolError) in
                try await database.rules(app: app)
            }
            try options.show(.array(rules.map(\.json)), RuleRow.table(rules))
        }
    }
}
