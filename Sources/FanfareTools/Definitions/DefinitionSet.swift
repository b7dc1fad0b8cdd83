package import FanfareCampaigns
package import FanfareConfiguration
package import FanfareCore
package import FanfareProviders

/// Rules from files or stored ones.
package typealias RuleSet = DefinitionSet<CompiledRule>
/// Campaigns from files.
package typealias CampaignSet = DefinitionSet<CampaignDefinition>
/// Policies from files, one per app.
package typealias PolicySet = DefinitionSet<AppPolicy>

/// Definitions of one kind, each checked as far as is possible without a database.
package struct DefinitionSet<Definition: FileDefinition>: Sendable {
    /// The kind of definition.
    package typealias Kind = Definition

    package struct Entry: Sendable {
        /// The file and line of the definition; nil if it is stored.
        package let source: RuleSource?
        package let definition: Definition

        package init(source: RuleSource?, definition: Definition) {
            (self.source, self.definition) = (source, definition)
        }

        package var id: RuleID { definition.id }

        /// Formats a problem with its place, if that is known.
        func message(for problem: RuleProblem) -> String {
            source?.message(for: problem) ?? problem.description
        }
    }

    package let entries: [Entry]

    /// The apps that the definitions name.
    package var apps: [String] { Set(entries.map(\.id.app)).sorted() }

    /// Reads files and checks every definition in them.
    ///
    /// - Parameter files: paths of YAML files.
    /// - Throws: ``ToolError`` with all problems of all files, one per line: `rules.yaml:12: path: reason`.
    package init(files: [String]) throws(ToolError) {
        var sources: [RuleSource] = []
        var problems: [String] = []
        for file in files {
            do throws(RulesFileError) {
                sources += try RulesFile.load(file, of: Definition.kind).rules
            } catch {
                problems.append(error.description)
            }
        }
        try self.init(sources, problems: problems)
    }

    /// Reads a list of definitions and checks every one of them.
    ///
    /// - Parameter listed: the definitions as JSON.
    /// - Throws: ``ToolError`` with all problems, one per line, with the position in the list: `rules:3: path: reason`.
    package init(listed: [JSONValue]) throws(ToolError) {
        try self.init(listed.enumerated().map { RuleSource($1, in: Definition.kind.plural, at: $0 + 1) })
    }

    package init(entries: [Entry]) {
        self.entries = entries
    }

    /// Makes a set of one definition that is in no file.
    package init(_ definition: Definition) {
        entries = [Entry(source: nil, definition: definition)]
    }

    /// Decodes each entry, and finds duplicates; `problems` are those of the files themselves.
    init(_ sources: [RuleSource], problems: [String] = []) throws(ToolError) {
        let place = Definition.kind == .policy ? "app" : "name"
        var problems = problems
        var entries: [Entry] = []
        var seen: [RuleID: RuleSource] = [:]
        for source in sources {
            do throws(RuleProblem) {
                let entry = Entry(source: source, definition: try Definition(entry: source.json))
                if let first = seen.updateValue(source, forKey: entry.id) {
                    problems.append(source.message(at: place, "is in \(first.file):\(first.line(of: place)) already"))
                }
                entries.append(entry)
            } catch {
                problems.append(source.message(for: error))
            }
        }
        guard problems.isEmpty else { throw Self.refused(problems) }
        self.entries = entries
    }

    /// Returns the error for problems in files; a line each.
    static func refused(_ problems: [String]) -> ToolError {
        let hint = "No changes made. Fix the errors above and retry."
        return ToolError(.failed, problems.joined(separator: "\n"), hint: hint)
    }
}

extension RuleSet {
    /// Reads a stored rule, in any of its versions.
    ///
    /// - Parameter json: the stored JSON.
    /// - Throws: ``ToolError`` if this version of Fanfare cannot read it.
    package init(stored json: JSONValue) throws(ToolError) {
        do throws(RuleProblem) {
            self.init(try CompiledRule(json: json))
        } catch {
            throw ToolError(.failed, error.description)
        }
    }
}
