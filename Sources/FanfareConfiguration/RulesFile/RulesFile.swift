internal import FanfareCore
internal import Foundation

/// A YAML file of rules, campaigns or policies: a list of them, single ones in separate documents, or both.
public struct RulesFile: Sendable {
    /// The kind of entry in a file.
    public enum Kind: String, Sendable {
        /// Rules.
        case rule
        /// Campaigns.
        case campaign
        /// Policies of apps.
        case policy

        /// The kind in the plural, which names commands and members of JSON.
        package var plural: String { self == .policy ? "policies" : rawValue + "s" }
    }

    /// The size limit of a file in bytes.
    public static let sizeLimit = 8 << 20

    /// The entries in the order of the file, not yet checked.
    public let rules: [RuleSource]

    /// Reads a file.
    ///
    /// - Parameters:
    ///   - path: the file's path; `-` for standard input.
    ///   - kind: the kind of entry expected.
    /// - Returns: the file's entries; the rule checker decides whether they are valid.
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
    ///   - name: the file's name in messages.
    ///   - kind: the kind of entry expected.
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
    /// The items of a list, none for an empty document, else the value itself.
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

/// One problem of a rules file.
public struct RulesFileProblem: Equatable, Sendable, CustomStringConvertible {
    /// The file's name.
    public let file: String
    /// Line, counted from 1; nil if the problem concerns the whole file.
    public let line: Int?
    /// Path within the rule; empty for the rule itself.
    public let path: String
    /// The problem.
    public let reason: String

    init(file: String, line: Int?, path: String, reason: String) {
        self.file = file
        self.line = line
        self.path = path
        self.reason = reason
    }

    init(_ problem: YAMLProblem, file: String) {
        // In a list the path begins with the rule's index, which is dropped because the message has the line.
        let inner = problem.path.trimmingPrefix(/\[\d+\]\.?/)
        self.init(file: file, line: problem.position?.line, path: String(inner), reason: problem.reason)
    }

    /// `rules.yaml:12: message.apns.headers: reason`.
    public var description: String {
        let place = line.map { "\(file):\($0)" } ?? file
        return [place, path, reason].filter { !$0.isEmpty }.joined(separator: ": ")
    }
}
