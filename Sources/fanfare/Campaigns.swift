import ArgumentParser
import FanfareCore
import FanfareRecords
import FanfareService
import FanfareTools

/// `fanfare campaigns`: campaigns from YAML files, and their runs.
struct Campaigns: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Plan, apply, list, explain, start and stop campaigns.",
        subcommands: [
            Plan.self, Apply.self, List.self, Show.self, Explain.self, Start.self, Test.self, Pause.self, Resume.self,
            Abort.self, Drop.self,
        ]
    )
}

/// The campaign of a command.
struct CampaignOptions: ParsableArguments {
    @Argument(help: "The campaign's app.")
    var app: String

    @Argument(help: "The campaign's name.")
    var name: String
}

/// The campaign files, and whether campaigns that are missing from them are dropped.
struct CampaignFileOptions: ParsableArguments {
    @Argument(
        help: "YAML files with campaigns; - reads standard input.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String]

    @Flag(help: "Drop campaigns of these apps that came from files and are no longer in them.")
    var prune = false
}

extension Campaigns {
    /// `fanfare campaigns plan`.
    struct Plan: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check campaigns, show what applying would change, and when each would be due."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var files: CampaignFileOptions
        @OptionGroup var change: PlanOptions

        func run() async throws {
            let set = try CampaignSet(files: files.files)
            let plan = try await options.withDatabase { database throws(ToolError) in
                try await database.planCampaigns(set, prune: files.prune)
            }
            try options.show(plan.json, plan.text)
            try change.end(plan.isEmpty)
        }
    }

    /// `fanfare campaigns apply`.
    struct Apply: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Check and store campaigns, all of them or none.",
            discussion: "A daemon checks each new version within a second; until then the version in force stays."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
        @OptionGroup var files: CampaignFileOptions

        func run() async throws {
            let set = try CampaignSet(files: files.files)
            let applied = try await options.withDatabase { database throws(ToolError) in
                try await database.applyCampaigns(set, prune: files.prune)
            }
            try options.show(applied.json, applied.text)
            if applied.hasRefused { throw ExitCode.failure }
        }
    }

    /// `fanfare campaigns list`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List campaigns with their next and last runs."
        )

        @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

        @Option(help: "Of this app only.")
        var app: String?

        func run() async throws {
            let campaigns = try await options.withDatabase { database throws(ToolError) in
                try await database.campaigns(app: app)
            }
            try options.show(.array(campaigns.map(\.json)), CampaignRow.table(campaigns))
        }
    }
}
