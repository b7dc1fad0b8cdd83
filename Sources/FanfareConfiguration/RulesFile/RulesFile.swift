internal import FanfareCore
internal import Foundation

/// A file of rules, campaigns or policies in YAML: a list of them, single ones in documents of their own, or both.
public struct RulesFile: Sendable {
    /// What a file has.
    public enum Kind: String, Sendable {
        /// Rules.
        case rule
        /// Campaigns.
        case campaign
        /// Policies of apps.
        case policy
    }

    /// Largest file that is read, in bytes.
    public static let sizeLimit = 8 << 20

    /// What it has, in the order of the file, not yet checked.
    public let rules: [RuleSource]

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: of the file; `-` for standard input.
    ///   - kind: what is expected in it.
    /// - Returns: what is in it; whether it makes sense is for the rule checker.
    /// - Throws: all problems of the file at once, each with its line.
    public static func load(_ path: String, of kind: Kind = .rule) throws(RulesFileError) -> RulesFile {
        let isInput = path == StandardInput.argument
        let name = isInput ? StandardInput.name : path
        let data: Data
        do {
            data =
                isInput
                ? try FileHandle.standardInput.readToEnd() ?? Data()
                : try Data(contentsOf: URL(fileURLWithPath: path))
        } catch {
            throw RulesFileError(name, reason(unreadable: path))
        }
        return try decode(data, named: name, of: kind)
    }

    private static func reason(unreadable path: String) -> String {
        switch UnreadableFile(path) {
        case .missing: "there is no such file"
        case .folder: "is a folder; name the files in it"
        case .forbidden: "may not be read by this user"
        case .other: "cannot be read"
        }
    }

    private static func decode(_ data: Data, named path: String, of kind: Kind) throws(RulesFileError) -> RulesFile {
        guard data.count <= sizeLimit else { throw RulesFileError(path, "is larger than \(sizeLimit >> 20) MiB") }
        guard let text = String(validating: data, as: UTF8.self) else { throw RulesFileError(path, "is not UTF-8") }
        return try RulesFile(yaml: text, named: path, of: kind)
    }

    /// Reads a text.
    ///
    /// - Parameters:
    ///   - yaml: the text.
    ///   - name: what messages call it.
    ///   - kind: what is expected in it.
    /// - Throws: all problems at once, each with its line.
    public init(yaml: String, named name: String, of kind: Kind = .rule) throws(RulesFileError) {
        let reader = YAMLReader(yaml)
        var problems = reader.problems.map { RulesFileProblem($0, file: name) }
        var rules: [RuleSource] = []
        var first: [[String]: Int] = [:]
        for value in reader.documents.flatMap(\.listed) {
            guard case .map = value.content else {
                let reason = "expected a \(kind.rawValue), found \(value.kind)"
                problems.append(.init(file: name, line: value.position.line, path: "", reason: reason))
                continue
            }
            let rule = RuleSource(value, file: name)
            if let earlier = first[[rule.app, rule.name]], !rule.name.isEmpty {
                let reason = "the app “\(rule.app)” has a \(kind.rawValue) “\(rule.name)” in line \(earlier) already"
                problems.append(.init(file: name, line: rule.line(of: "name"), path: "name", reason: reason))
            } else {
                first[[rule.app, rule.name]] = rule.line(of: "name")
            }
            rules.append(rule)
        }
        guard problems.isEmpty else { throw RulesFileError(problems: problems) }
        self.rules = rules
    }
}

extension YAMLValue {
    /// The items of a list, nothing for an empty document, else the value itself.
    fileprivate var listed: [YAMLValue] {
        switch content {
        case .list(let items): items
        case .null: []
        default: [self]
        }
    }
}

/// Why a rules file cannot be read: all problems at once.
public struct RulesFileError: Error, Equatable, Sendable, CustomStringConvertible {
    /// At least one problem, from top to bottom.
    public let problems: [RulesFileProblem]

    init(problems: [RulesFileProblem]) {
        self.problems = problems.sorted { $0.line ?? 0 < $1.line ?? 0 }
    }

    init(_ file: String, _ reason: String) {
        problems = [RulesFileProblem(file: file, line: nil, path: "", reason: reason)]
    }

    /// One line per problem.
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// One thing wrong with a rules file.
public struct RulesFileProblem: Equatable, Sendable, CustomStringConvertible {
    /// The file's name.
    public let file: String
    /// Line, counted from 1; nil if the problem is the file's.
    public let line: Int?
    /// Place within the rule; empty for the rule itself.
    public let path: String
    /// What is wrong.
    public let reason: String

    init(file: String, line: Int?, path: String, reason: String) {
        self.file = file
        self.line = line
        self.path = path
        self.reason = reason
    }

    init(_ problem: YAMLProblem, file: String) {
        // A path begins with the rule's index if the document is a list; people count lines, not rules.
        let inner = problem.path.trimmingPrefix(/\[\d+\]\.?/)
        self.init(file: file, line: problem.position?.line, path: String(inner), reason: problem.reason)
    }

    /// `rules.yaml:12: message.apns.headers: reason`.
    public var description: String {
        let place = line.map { "\(file):\($0)" } ?? file
        return [place, path, reason].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}
