import ArgumentParser
import FanfareCore
import FanfareTools

/// A group of commands for definitions in files: `rules`, `campaigns` or `policies`.
protocol DefinitionCommands {
    /// The kind of definition.
    associatedtype Definition: FileDefinition where Definition.Row: Tabular
    /// The option to drop what is missing from the files.
    associatedtype Prune: PruneChoice = PruneOption<Self>

    /// The name of some definitions.
    static var plural: String { get }
    /// What `plan` and `list` do.
    static var abstracts: (plan: String, list: String) { get }
    /// What happens after `apply`.
    static var discussion: String { get }
}

extension DefinitionCommands {
    static var discussion: String {
        "A daemon checks each new version within a second; until then the version in force stays."
    }
}

/// Whether definitions that are missing from the files are dropped.
protocol PruneChoice: ParsableArguments {
    var prune: Bool { get }
}

/// The option to drop what is missing from the files.
struct PruneOption<Commands: DefinitionCommands>: PruneChoice {
    @Flag(help: "Drop \(Commands.plural) of these apps that came from files and are no longer in them.")
    var prune = false
}

/// No option, for definitions that files remove explicitly.
struct NoPrune: PruneChoice {
    var prune: Bool { false }
}

/// The files of a command.
struct FileArguments<Commands: DefinitionCommands>: ParsableArguments {
    @Argument(
        help: "YAML files with \(Commands.plural); - reads standard input.",
        completion: .file(extensions: ["yaml", "yml"])
    )
    var files: [String]

    @OptionGroup var pruning: Commands.Prune
}

/// `fanfare rules plan`, and the same for campaigns and policies.
struct PlanFiles<Commands: DefinitionCommands>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "plan", abstract: Commands.abstracts.plan)
    }

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
    @OptionGroup var files: FileArguments<Commands>
    @OptionGroup var change: PlanOptions

    func run() async throws {
        let set = try DefinitionSet<Commands.Definition>(files: files.files)
        let plan = try await options.withDatabase { database throws(ToolError) in
            try await database.plan(set, prune: files.pruning.prune)
        }
        try options.show(plan.json, plan.text)
        try change.end(plan.isEmpty)
    }
}

/// `fanfare rules apply`, and the same for campaigns and policies.
struct ApplyFiles<Commands: DefinitionCommands>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "apply",
            abstract: "Check and store \(Commands.plural), all of them or none.",
            discussion: Commands.discussion
        )
    }

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions
    @OptionGroup var files: FileArguments<Commands>

    func run() async throws {
        let set = try DefinitionSet<Commands.Definition>(files: files.files)
        let applied = try await options.withDatabase { database throws(ToolError) in
            try await database.apply(set, prune: files.pruning.prune)
        }
        try options.show(applied.json, applied.text)
        if applied.hasRefused { throw ExitCode.failure }
    }
}

/// `fanfare rules list`, and the same for campaigns and policies.
struct ListDefinitions<Commands: DefinitionCommands>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(commandName: "list", abstract: Commands.abstracts.list)
    }

    @OptionGroup(title: GlobalOptions.title) var options: GlobalOptions

    @Option(help: "Of this app only.")
    var app: String?

    func run() async throws {
        let rows = try await options.withDatabase { database throws(ToolError) in
            try await database.stored(DefinitionSet<Commands.Definition>.self, app: app)
        }
        try options.show(.array(rows.map(\.json)), Commands.Definition.Row.table(rows))
    }
}
