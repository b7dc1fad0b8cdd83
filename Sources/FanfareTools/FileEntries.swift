internal import FanfareConfiguration
internal import FanfareCore

/// What stands in files of rules, campaigns or policies, before anything is made of it.
struct FileEntries {
    private let sources: [RuleSource]
    private var problems: [String] = []

    /// Reads files.
    ///
    /// - Parameters:
    ///   - files: paths of YAML files.
    ///   - kind: what is expected in them.
    init(files: [String], of kind: RulesFile.Kind) {
        var sources: [RuleSource] = []
        for file in files {
            do throws(RulesFileError) {
                sources += try RulesFile.load(file, of: kind).rules
            } catch {
                problems.append(error.description)
            }
        }
        self.sources = sources
    }

    init(_ sources: [RuleSource]) {
        self.sources = sources
    }

    /// Makes something of each, and finds what is there twice.
    ///
    /// - Parameters:
    ///   - place: what tells one from another.
    ///   - id: app and name of what was made.
    ///   - make: reads and checks one.
    /// - Returns: what was made, in the order of the files.
    /// - Throws: ``ToolError`` with all problems of all files, one per line: `rules.yaml:12: path: reason`.
    func read<Entry>(
        by place: String = "name",
        id: (Entry) -> RuleID,
        _ make: (RuleSource) throws(RuleProblem) -> Entry
    ) throws(ToolError) -> [Entry] {
        var problems = problems
        var entries: [Entry] = []
        var seen: [RuleID: RuleSource] = [:]
        for source in sources {
            do throws(RuleProblem) {
                let entry = try make(source)
                if let first = seen.updateValue(source, forKey: id(entry)) {
                    problems.append(source.message(at: place, "is in \(first.file):\(first.line(of: place)) already"))
                }
                entries.append(entry)
            } catch {
                problems.append(source.message(for: error))
            }
        }
        guard problems.isEmpty else { throw Self.refused(problems) }
        return entries
    }

    /// What a command says that found problems in files.
    ///
    /// - Parameter problems: at least one, a line each.
    /// - Returns: the error.
    static func refused(_ problems: [String]) -> ToolError {
        let hint = "No changes made. Fix the errors above and retry."
        return ToolError(.failed, problems.joined(separator: "\n"), hint: hint)
    }
}
