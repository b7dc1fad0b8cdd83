public import FanfareCore
internal import FanfareProviders
internal import FanfareStore

/// What applying rule files changes.
public struct RulesPlan: Sendable {
    /// What becomes of one rule.
    public enum Change: String, Sendable {
        /// It is new.
        case added
        /// It gets a new version.
        case changed
        /// Nothing.
        case unchanged
        /// It came from a file and is gone from there.
        case dropped
    }

    /// One rule of the plan.
    public struct Item: Sendable {
        /// Its app.
        public let app: String
        /// Its name.
        public let name: String
        /// What becomes of it.
        public let change: Change
        /// What differs: paths from the rule's root, with the values before and after.
        public let differences: [JSONDifference]
    }

    /// The rules in the order of app and name.
    public let items: [Item]
    /// Whether rules that are gone from the files are dropped, or only shown.
    public let prunes: Bool
    /// What is not wrong but probably not meant, a line each.
    public let warnings: [String]

    /// Compares.
    ///
    /// - Parameters:
    ///   - set: what the files say.
    ///   - stored: what there is.
    ///   - prunes: whether rules that are gone from the files are dropped.
    ///   - configuredApps: the apps that the configuration has; nothing is said of apps where it has none.
    init(_ set: RuleSet, stored: [RuleRow], prunes: Bool, configuredApps: Set<String> = []) {
        let old = Dictionary(stored.map { ($0.id, $0) }) { first, _ in first }
        var items = set.entries.map { entry in
            guard let before = old[entry.id]?.canonical else {
                return Item(app: entry.id.app, name: entry.id.name, change: .added, differences: [])
            }
            let differences = JSONDifference.between(before, entry.compiled.definition.json)
            return Item(
                app: entry.id.app,
                name: entry.id.name,
                change: differences.isEmpty ? .unchanged : .changed,
                differences: differences
            )
        }
        let wanted = Set(set.entries.map(\.id))
        items += stored.filter { $0.isFromFile && !wanted.contains($0.id) }
            .map { Item(app: $0.app, name: $0.name, change: .dropped, differences: []) }
        self.items = items.sorted { ($0.app, $0.name) < ($1.app, $1.name) }
        self.prunes = prunes
        warnings = configuredApps.isEmpty ? [] : Self.warnings(set, configuredApps)
    }

    private static func warnings(_ set: RuleSet, _ configuredApps: Set<String>) -> [String] {
        set.apps.filter { !configuredApps.contains($0) }.map { app in
            let names = set.entries.filter { $0.id.app == app }.map(\.id.name)
            let more = names.count > 3 ? " and \(names.count - 3) more" : ""
            let rules = names.prefix(3).joined(separator: ", ") + more
            let near = NearestName.suggestion(for: app, among: configuredApps.sorted())
            return "the configuration has no app “\(app)”: what \(rules) would send waits for a daemon that has"
                + (near.map { "; did you mean “\($0)”?" } ?? "")
        }
    }

    /// Whether applying would change nothing.
    public var isEmpty: Bool {
        items.allSatisfy { $0.change == .unchanged || $0.change == .dropped && !prunes }
    }

    /// The plan as JSON.
    public var json: JSONValue {
        [
            "prune": .bool(prunes), "warnings": .array(warnings.map(JSONValue.string)),
            "rules": .array(
                items.map { item in
                    [
                        "app": .string(item.app), "name": .string(item.name), "change": .string(item.change.rawValue),
                        "differences": .array(item.differences.map(\.json)),
                    ]
                }
            ),
        ]
    }

    /// The plan for people: a line per rule, one per difference below it, and a sum.
    public var text: String {
        var lines: [String] = []
        for item in items where item.change != .unchanged {
            let sign = ["added": "+", "changed": "~", "dropped": "-"][item.change.rawValue] ?? " "
            let note = item.change == .dropped && !prunes ? " (gone from the files; --prune drops it)" : ""
            lines.append("\(sign) \(item.app)/\(item.name)\(note)")
            lines += item.differences.map { "    " + $0.text }
        }
        let counts = [Change.added, .changed, .unchanged, .dropped].map { change in
            "\(items.count { $0.change == change }) \(change == .dropped && !prunes ? "not in the files" : change.rawValue)"
        }
        lines += warnings.map { "warning: \($0)" }
        return (lines + [counts.joined(separator: ", ")]).joined(separator: "\n")
    }
}

/// One place in which two JSON values differ.
public struct JSONDifference: Sendable, Equatable {
    /// Keys and indices from the root.
    public let path: String
    /// The value before; nil if there was none.
    public let old: JSONValue?
    /// The value after; nil if there is none.
    public let new: JSONValue?

    /// Finds where two values differ, objects member by member, arrays element by element.
    ///
    /// - Parameters:
    ///   - old: the value before.
    ///   - new: the value after.
    /// - Returns: the innermost places, in the order of `new`, then what is gone.
    static func between(_ old: JSONValue, _ new: JSONValue) -> [JSONDifference] {
        between(old, new, path: "")
    }

    private static func between(_ old: JSONValue, _ new: JSONValue, path: String) -> [JSONDifference] {
        guard old != new else { return [] }
        switch (old, new) {
        case (.object(let old), .object(let new)):
            let gone = old.keys.filter { new[$0] == nil }
            return (new.keys + gone).flatMap { key in
                member(old[key], new[key], path: path.isEmpty ? key : "\(path).\(key)")
            }
        case (.array(let old), .array(let new)) where old.count == new.count:
            return zip(old, new).enumerated().flatMap { index, pair in
                between(pair.0, pair.1, path: "\(path)[\(index)]")
            }
        default: return [JSONDifference(path: path, old: old, new: new)]
        }
    }

    private static func member(_ old: JSONValue?, _ new: JSONValue?, path: String) -> [JSONDifference] {
        guard let old, let new else {
            return old == nil && new == nil ? [] : [JSONDifference(path: path, old: old, new: new)]
        }
        return between(old, new, path: path)
    }

    /// `path`, `old` and `new`; what is not there is missing.
    var json: JSONValue {
        var object = JSONObject()
        object["path"] = .string(path)
        object["old"] = old
        object["new"] = new
        return .object(object)
    }

    /// `ttl: "4h" → "2h"`.
    var text: String {
        "\(path): \(old.map(Self.short) ?? "(none)") → \(new.map(Self.short) ?? "(none)")"
    }

    private static func short(_ value: JSONValue) -> String {
        let text = TextTable.printable(value.text)
        return text.count > 200 ? text.prefix(199) + "…" : text
    }
}
