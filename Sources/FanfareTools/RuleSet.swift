internal import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders

/// Rules from files, each checked as far as is possible without a database.
public struct RuleSet: Sendable {
    struct Entry: Sendable {
        /// The file and line of the definition; nil if it is stored.
        let source: RuleSource?
        let compiled: CompiledRule

        var id: RuleID { RuleID(app: compiled.definition.app, name: compiled.definition.name) }
    }

    let entries: [Entry]

    /// The apps that the files name.
    public var apps: [String] { Set(entries.map(\.id.app)).sorted() }

    /// Reads files and checks every rule in them.
    ///
    /// - Parameter files: paths of YAML files.
    /// - Throws: ``ToolError`` with all problems of all files, one per line: `rules.yaml:12: path: reason`.
    public init(files: [String]) throws(ToolError) {
        try self.init(FileEntries(files: files, of: .rule))
    }

    /// Reads a list of rules and checks every one of them.
    ///
    /// - Parameter listed: the definitions as JSON.
    /// - Throws: ``ToolError`` with all problems, one per line, with the position in the list: `rules:3: path: reason`.
    public init(listed: [JSONValue]) throws(ToolError) {
        try self.init(FileEntries(listed.enumerated().map { RuleSource($1, in: "rules", at: $0 + 1) }))
    }

    /// Reads a stored rule, in any of its versions.
    ///
    /// - Parameter definition: the stored JSON.
    /// - Throws: ``ToolError`` if this version of Fanfare cannot read it.
    package init(definition: JSONValue) throws(ToolError) {
        do throws(RuleProblem) {
            entries = [Entry(source: nil, compiled: try CompiledRule(json: definition))]
        } catch {
            throw ToolError(.failed, error.description)
        }
    }

    init(entries: [Entry]) {
        self.entries = entries
    }

    init(_ sources: [RuleSource]) throws(ToolError) {
        try self.init(FileEntries(sources))
    }

    private init(_ files: FileEntries) throws(ToolError) {
        entries = try files.read(id: \.id) { source throws(RuleProblem) in
            let entry = Entry(source: source, compiled: try CompiledRule(json: source.json))
            // Campaigns are stored as rules under reserved names, which rules in files must not use.
            guard RuleNames.isRule(entry.id.name) else {
                throw RuleProblem(path: "name", reason: "cannot be a name", hint: RuleNames.ruleHint)
            }
            return entry
        }
    }
}
