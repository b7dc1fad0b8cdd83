internal import FanfareConfiguration
internal import FanfareCore

/// The entries of files of rules, campaigns or policies, before they are decoded.
struct FileEntries {
    private let sources: [RuleSource]
    private var problems: [String] = []

    /// Reads files.
    ///
    /// - Parameters:
    ///   - files: paths of YAML files.
    ///   - kind: the kind of entry expected.
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

    /// Decodes each entry, and finds duplicates.
    ///
    /// - Parameters:
    ///   - place: the property that must be unique.
    ///   - id: returns app and name of a decoded entry.
    ///   - make: decodes and checks one entry.
    /// - Returns: the decoded entries, in the order of the files.
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

    /// Returns the error of a command that found problems in files.
    ///
    /// - Parameter problems: at least one, a line each.
    /// - Returns: the error.
    static func refused(_ problems: [String]) -> ToolError {
        let hint = "No changes made. Fix the errors above and retry."
        return ToolError(.failed, problems.joined(separator: "\n"), hint: hint)
    }
}
