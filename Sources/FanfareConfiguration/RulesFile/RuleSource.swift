public import FanfareCore

/// One rule or campaign as written in a file: its JSON form, and in which line each part of it stands.
public struct RuleSource: Sendable {
    /// Its name; empty if it has none, which the rule checker reports.
    public let name: String
    /// Name of its app; empty if it has none, which the rule checker reports.
    public let app: String
    /// What `put_rule` or `put_campaign` takes, with numbers in the text they were written as.
    public let json: JSONValue
    /// The file's name.
    public let file: String
    /// Line in which the rule begins, counted from 1.
    public let line: Int
    private let lines: [String: Int]

    init(_ value: YAMLValue, file: String) {
        var lines: [String: Int] = [:]
        let json = Self.json(of: value, path: "", lines: &lines)
        self.json = json
        self.file = file
        self.lines = lines
        line = value.position.line
        name = json["name"]?.stringValue ?? ""
        app = json["app"]?.stringValue ?? ""
    }

    /// Takes one that stands in a list, and in no file.
    ///
    /// - Parameters:
    ///   - json: what `put_rule` or `put_campaign` takes.
    ///   - list: what messages call the list.
    ///   - place: its place in the list, counted from 1; messages have it where they have a line otherwise.
    public init(_ json: JSONValue, in list: String, at place: Int) {
        (self.json, file, line, lines) = (json, list, place, [:])
        name = json["name"]?.stringValue ?? ""
        app = json["app"]?.stringValue ?? ""
    }

    /// The line of a part of the rule.
    ///
    /// - Parameter path: keys and indices from the rule's root, such as `message.apns.headers` or `to.tokens[2]`.
    /// - Returns: its line; for a part that is not there the line of what it is missing from.
    public func line(of path: String) -> Int {
        var path = path[...]
        while !path.isEmpty {
            if let line = lines[String(path)] { return line }
            path = path.prefix(upTo: path.lastIndex { $0 == "." || $0 == "[" } ?? path.startIndex)
        }
        return line
    }

    /// A message about a part of the rule, with its place.
    ///
    /// - Parameters:
    ///   - path: keys and indices from the rule's root; empty for the rule itself.
    ///   - reason: what is wrong and how to fix it.
    /// - Returns: `rules.yaml:12: message.apns.headers: reason`.
    public func message(at path: String, _ reason: String) -> String {
        RulesFileProblem(file: file, line: line(of: path), path: path, reason: reason).description
    }

    /// A message about what the rule checker found, with its place.
    ///
    /// - Parameter problem: what it found.
    /// - Returns: `rules.yaml:12: message.apns.headers: reason; hint`.
    public func message(for problem: RuleProblem) -> String {
        message(at: problem.path, problem.hint.isEmpty ? problem.reason : "\(problem.reason); \(problem.hint)")
    }

    private static func json(of value: YAMLValue, path: String, lines: inout [String: Int]) -> JSONValue {
        switch value.content {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .string(let text): return .string(text)
        case .number(let literal):
            // The reader lets only JSON's own numbers pass; the parser keeps their text.
            return (try? JSONValue(parsing: literal)) ?? .string(literal)
        case .list(let items):
            return .array(
                items.enumerated().map { index, item in
                    let itemPath = "\(path)[\(index)]"
                    lines[itemPath] = item.position.line
                    return json(of: item, path: itemPath, lines: &lines)
                }
            )
        case .map(let entries):
            var object = JSONObject()
            for entry in entries {
                let entryPath = path.isEmpty ? entry.key : "\(path).\(entry.key)"
                lines[entryPath] = entry.keyPosition.line
                object[entry.key] = json(of: entry.value, path: entryPath, lines: &lines)
            }
            return .object(object)
        }
    }
}
