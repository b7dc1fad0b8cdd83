import ArgumentParser
import FanfareConfiguration
import FanfareCore
import FanfareService
import FanfareStore
import FanfareTools

/// `fanfare migrate`: loads the schema.
struct Migrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Load or upgrade the schema; a database that is not adopted yet is adopted."
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Flag(help: "Only say what would be done.")
    var dryRun = false

    func run() async throws {
        let configuration = try options.load(forDatabase: true)
        let database = try ToolDatabase(configuration, environment: options.environment)
        var plan = try await database.whileOpen { database throws(ToolError) in
            try await database.migrationPlan(configuration)
        }
        if !dryRun {
            let setup = try DatabaseSetup(configuration, environment: options.environment)
            plan.adopts = try setup.migrate(endsBySignals: true)
        }
        try options.show(plan.json(isDone: !dryRun), plan.text(isDone: !dryRun))
    }
}

/// `fanfare adopt`: records the installation that sends from this database.
struct Adopt: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Make this database the one that this installation sends from.",
        discussion: "If this is a copy, stop the daemons of the original first: both would send."
    )

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Flag(help: "Only say what would change.")
    var dryRun = false

    func run() async throws {
        let configuration = try options.load(forDatabase: true)
        let database = try ToolDatabase(configuration, environment: options.environment)
        let change = try await database.whileOpen { database throws(ToolError) in
            try await database.adoption(as: configuration.installation)
        }
        if !dryRun { try DatabaseSetup(configuration, environment: options.environment).adopt() }
        try options.show(change.json(isDone: !dryRun), change.text(isDone: !dryRun))
    }
}

/// `fanfare version`: the versions of the program and of its schema.
struct Version: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the version.")

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    func run() throws {
        let schema = Schema.versions
        try options.show(
            [
                "version": .string(Program.version),
                "schema": ["oldest": .number(.init(schema.lowerBound)), "newest": .number(.init(schema.upperBound))],
            ],
            "fanfare \(Program.version), schema \(schema.lowerBound) to \(schema.upperBound)"
        )
    }
}
