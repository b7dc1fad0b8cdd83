public import FanfareCore

/// One rule or campaign as written in a file: its JSON form, and the line of each part.
public struct RuleSource: Sendable {
    /// The name; empty if it is missing, which the rule checker reports.
    public let name: String
    /// The app's name; empty if it is missing, which the rule checker reports.
    public let app: String
    /// The argument of `put_rule` or `put_campaign`, with numbers as written.
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

    /// Makes a source for an element of a list that is not in a file.
    ///
    /// - Parameters:
    ///   - json: the argument of `put_rule` or `put_campaign`.
    ///   - list: the list's name in messages.
    ///   - place: the position in the list, counted from 1; messages show it in place of a line.
    public init(_ json: JSONValue, in list: String, at place: Int) {
        (self.json, file, line, lines) = (json, list, place, [:])
        name = json["name"]?.stringValue ?? ""
        app = json["app"]?.stringValue ?? ""
    }

    /// Returns the line of a part of the rule.
    ///
    /// - Parameter path: keys and indices from the rule's root, such as `message.apns.headers` or `to.tokens[2]`.
    /// - Returns: its line; for a missing part the line of its parent.
    public func line(of path: String) -> Int {
        var path = path[...]
        while !path.isEmpty {
            if let line = lines[String(path)] { return line }
            path = path.prefix(upTo: path.lastIndex { $0 == "." || $0 == "[" } ?? path.startIndex)
        }
        return line
    }

    /// Formats a message about a part of the rule, with its place.
    ///
    /// - Parameters:
    ///   - path: keys and indices from the rule's root; empty for the rule itself.
    ///   - reason: the problem and how to fix it.
    /// - Returns: `rules.yaml:12: message.apns.headers: reason`.
    public func message(at path: String, _ reason: String) -> String {
        RulesFileProblem(file: file, line: line(of: path), path: path, reason: reason).description
    }

    /// Formats a problem that the rule checker found, with its place.
    ///
    /// - Parameter problem: the problem.
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
            // The YAML reader admits only JSON numbers, and the parser keeps their text.
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
