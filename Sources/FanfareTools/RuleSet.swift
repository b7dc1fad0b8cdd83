internal import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders

/// Rules from files, each of them found to make sense as far as that can be seen without a database.
public struct RuleSet: Sendable {
    struct Entry: Sendable {
        /// Where it stands in a file; nil if it is stored already.
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

    /// Takes rules that came as a list, and checks every one of them.
    ///
    /// - Parameter listed: as JSON.
    /// - Throws: ``ToolError`` with all problems, one per line: `rules:3: path: reason`, with the place in the list.
    public init(listed: [JSONValue]) throws(ToolError) {
        try self.init(FileEntries(listed.enumerated().map { RuleSource($1, in: "rules", at: $0 + 1) }))
    }

    /// Takes one rule that is stored, in any of its versions.
    ///
    /// - Parameter definition: its JSON.
    /// - Throws: ``ToolError`` if it makes no sense to this version of Fanfare.
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
            // Stored rules may have the names of campaigns, since campaigns become rules; those that people write may not.
            guard RuleNames.isRule(entry.id.name) else {
                throw RuleProblem(path: "name", reason: "cannot be a name", hint: RuleNames.ruleHint)
            }
            return entry
        }
    }
}
