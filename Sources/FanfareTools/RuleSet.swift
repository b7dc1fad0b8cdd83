internal import FanfareConfiguration
internal import FanfareCore
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
        var sources: [RuleSource] = []
        var problems: [String] = []
        for file in files {
            do throws(RulesFileError) {
                sources += try RulesFile.load(file).rules
            } catch {
                problems.append(error.description)
            }
        }
        try self.init(sources, problems: problems)
    }

    init(entries: [Entry]) {
        self.entries = entries
    }

    init(_ sources: [RuleSource], problems: [String] = []) throws(ToolError) {
        var problems = problems
        var entries: [Entry] = []
        var seen: [RuleID: RuleSource] = [:]
        for source in sources {
            do throws(RuleProblem) {
                let entry = Entry(source: source, compiled: try CompiledRule(json: source.json))
                if let first = seen.updateValue(source, forKey: entry.id) {
                    problems.append(source.message(at: "name", "is in \(first.file):\(first.line(of: "name")) already"))
                }
                entries.append(entry)
            } catch {
                problems.append(source.message(for: error))
            }
        }
        guard problems.isEmpty else { throw Self.refused(problems) }
        self.entries = entries
    }

    static func refused(_ problems: [String]) -> ToolError {
        let hint = "Nothing was changed; mend the lines above and try again."
        return ToolError(.failed, problems.joined(separator: "\n"), hint: hint)
    }
}
