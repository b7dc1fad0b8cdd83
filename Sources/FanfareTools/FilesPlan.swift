internal import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import FanfareStore

/// The changes that applying files of rules or campaigns makes.
public struct FilesPlan: Sendable {
    /// The change of one rule or campaign.
    public enum Change: String, Sendable {
        /// It is new.
        case added
        /// It gets a new version.
        case changed
        /// It stays as it is.
        case unchanged
        /// It came from a file, is in none of these, and is dropped.
        case dropped
        /// It came from a file, is in none of these, and stays: it may be in another file.
        case kept
    }

    /// One rule or campaign of the plan.
    public struct Item: Sendable {
        /// Its app.
        public let app: String
        /// Its name.
        public let name: String
        /// The change.
        public let change: Change
        /// The differences: paths from the root, with the values before and after.
        public let differences: [JSONDifference]

        var id: RuleID { RuleID(app: app, name: name) }
    }

    /// A stored rule or campaign.
    struct Stored {
        let id: RuleID
        /// The canonical form for comparison.
        let canonical: JSONValue
        let isFromFile: Bool
    }

    /// The items, ordered by app and name.
    public let items: [Item]
    /// Whether rules or campaigns that are in none of the files are dropped.
    public let prunes: Bool
    /// Likely mistakes that are not errors, a line each.
    public let warnings: [String]
    private let kind: RulesFile.Kind

    /// Compares the files with the database.
    ///
    /// - Parameters:
    ///   - kind: rules or campaigns.
    ///   - wanted: the definitions in the files, in canonical form.
    ///   - stored: the stored definitions.
    ///   - prunes: whether definitions that are in none of the files are dropped.
    ///   - configuredApps: the apps of the configuration; if it has none, there are no warnings about apps.
    init(
        _ kind: RulesFile.Kind,
        _ wanted: [(id: RuleID, json: JSONValue)],
        stored: [Stored],
        prunes: Bool,
        configuredApps: Set<String>
    ) {
        let old = Dictionary(stored.map { ($0.id, $0) }) { first, _ in first }
        var items = wanted.map { id, json in
            guard let before = old[id]?.canonical else {
                return Item(app: id.app, name: id.name, change: .added, differences: [])
            }
            let differences = JSONDifference.between(before, json)
            let change = differences.isEmpty ? Change.unchanged : .changed
            return Item(app: id.app, name: id.name, change: change, differences: differences)
        }
        let ids = Set(wanted.map(\.id))
        items += stored.filter { $0.isFromFile && !ids.contains($0.id) }
            .map { Item(app: $0.id.app, name: $0.id.name, change: prunes ? .dropped : .kept, differences: []) }
        self.items = items.sorted { $0.id < $1.id }
        self.prunes = prunes
        self.kind = kind
        warnings = configuredApps.isEmpty ? [] : Self.warnings(wanted.map(\.id), configuredApps)
    }

    private static func warnings(_ ids: [RuleID], _ configuredApps: Set<String>) -> [String] {
        Set(ids.map(\.app)).sorted().filter { !configuredApps.contains($0) }.map { app in
            let names = ids.filter { $0.app == app }.map(\.name)
            let more = names.count > 3 ? " and \(names.count - 3) more" : ""
            let rules = names.prefix(3).joined(separator: ", ") + more
            let near = NearestName.suggestion(for: app, among: configuredApps.sorted())
            return "the configuration has no app “\(app)”: what \(rules) would send waits for a daemon that has"
                + (near.map { "; did you mean “\($0)”?" } ?? "")
        }
    }

    /// Whether applying would change nothing.
    public var isEmpty: Bool {
        items.allSatisfy { $0.change == .unchanged || $0.change == .kept }
    }

    /// The rules or campaigns that get a new version.
    var changed: Set<RuleID> { Set(items.filter { $0.change == .added || $0.change == .changed }.map(\.id)) }

    /// The rules or campaigns that are dropped.
    var dropped: [RuleID] { items.filter { $0.change == .dropped }.map(\.id) }

    /// The plan as JSON.
    public var json: JSONValue { json { _ in JSONObject() } }

    /// The plan as text for people: a line per change, its differences below it, and a sum.
    public var text: String { text { _ in [] } }

    /// The plan as JSON.
    ///
    /// - Parameter more: additional members of an item.
    /// - Returns: the JSON.
    func json(more: (Item) -> JSONObject) -> JSONValue {
        [
            "prune": .bool(prunes), "warnings": .array(warnings.map(JSONValue.string)),
            "\(kind.rawValue)s": .array(
                items.map { item in
                    var object = JSONObject()
                    object["app"] = .string(item.app)
                    object["name"] = .string(item.name)
                    object["change"] = .string(item.change.rawValue)
                    object["differences"] = .array(item.differences.map(\.json))
                    for member in more(item).members { object[member.key] = member.value }
                    return .object(object)
                }
            ),
        ]
    }

    /// The plan as text for people.
    ///
    /// - Parameter more: lines below an item; an unchanged item is shown only if it has such lines.
    /// - Returns: the text.
    func text(more: (Item) -> [String]) -> String {
        var lines: [String] = []
        for item in items {
            let below = more(item)
            guard ![.unchanged, .kept].contains(item.change) || !below.isEmpty else { continue }
            let sign = ["added": "+", "changed": "~", "unchanged": "=", "dropped": "-"][item.change.rawValue] ?? " "
            lines.append("\(sign) \(item.app)/\(item.name)")
            lines += (item.differences.map(\.text) + below).map { "    " + $0 }
        }
        let counts = [Change.added, .changed, .unchanged, .dropped].map { change in
            "\(items.count { $0.change == change }) \(change.rawValue)"
        }
        lines += warnings.map { "warning: \($0)" }
        lines.append(counts.joined(separator: ", "))
        let kept = items.count { $0.change == .kept }
        if kept > 0 { lines.append("\(kept) of other files kept; --prune drops what is not in these") }
        return lines.joined(separator: "\n")
    }
}
