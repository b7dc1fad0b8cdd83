internal import FanfareConfiguration
package import FanfareCore

/// The changes that applying files of definitions makes.
package struct FilesPlan: Sendable {
    /// The change of one definition.
    package enum Change: String, Sendable {
        /// It is new.
        case added
        /// It gets a new version.
        case changed
        /// It stays as it is.
        case unchanged
        /// It came from a file, is in none of these, and is dropped; or it is a policy that a file removes.
        case dropped
        /// It came from a file, is in none of these, and stays: it may be in another file.
        case kept
    }

    /// One definition of the plan.
    package struct Item: Sendable {
        package let id: RuleID
        /// The change.
        package let change: Change
        /// The differences: paths from the root, with the values before and after.
        package let differences: [JSONDifference]

        /// Its name; empty for a policy.
        package var name: String { id.name }
    }

    /// The items, ordered by app and name.
    package let items: [Item]
    /// Likely mistakes that are not errors, a line each.
    package let warnings: [String]
    /// When the campaigns of the files would be due under the schedules in the files.
    package var forecasts: [RuleID: CampaignForecast] = [:]
    /// The definitions of the files that differ from the stored ones.
    let changed: Set<RuleID>
    private let kind: RulesFile.Kind
    private let prunes: Bool

    /// Compares the definitions of files with the stored ones.
    ///
    /// - Parameters:
    ///   - set: the definitions of the files.
    ///   - stored: the stored definitions.
    ///   - prunes: whether definitions that are in none of the files are dropped.
    ///   - configuredApps: the apps of the configuration; if it has none, there are no warnings about apps.
    init<Definition>(
        _ set: DefinitionSet<Definition>,
        stored: [Definition.Row],
        prunes: Bool,
        configuredApps: Set<String> = []
    ) {
        let old = Dictionary(stored.map { ($0.id, $0.canonical) }) { first, _ in first }
        let wanted = set.entries.map { entry in
            guard let before = old[entry.id] else {
                return Item(id: entry.id, change: entry.definition.isRemoval ? .unchanged : .added, differences: [])
            }
            let differences = JSONDifference.between(before, entry.definition.json)
            let change = differences.isEmpty ? Change.unchanged : .changed
            return Item(
                id: entry.id,
                change: entry.definition.isRemoval ? .dropped : change,
                differences: differences
            )
        }
        let ids = Set(wanted.map(\.id))
        let others = stored.filter { $0.isFromFile && !ids.contains($0.id) }
            .map { Item(id: $0.id, change: prunes ? .dropped : .kept, differences: []) }
        items = (wanted + others).sorted { $0.id < $1.id }
        changed = Set(wanted.filter { $0.change != .unchanged }.map(\.id))
        (kind, self.prunes) = (Definition.kind, prunes)
        let unknown = configuredApps.isEmpty ? [] : set.apps.filter { !configuredApps.contains($0) }
        let strangers = unknown.map { app in
            let near = NearestName.suggestion(for: app, among: configuredApps.sorted())
            return "the configuration has no app “\(app)”: \(Self.fate(of: wanted.filter { $0.id.app == app }))"
                + (near.map { "; did you mean “\($0)”?" } ?? "")
        }
        let advice = set.entries.flatMap { entry in
            entry.definition.advice.map { "\(entry.id.app)/\(entry.id.name): \($0)" }
        }
        warnings = strangers + advice
    }

    /// Tells what happens to definitions of an app that is not configured.
    private static func fate(of items: [Item]) -> String {
        guard items.allSatisfy({ !$0.name.isEmpty }) else { return "its policy holds for what another daemon sends" }
        let more = items.count > 3 ? " and \(items.count - 3) more" : ""
        let names = items.prefix(3).map(\.name).joined(separator: ", ") + more
        return "what \(names) would send waits for a daemon that has"
    }

    /// Whether applying would change nothing.
    package var isEmpty: Bool {
        items.allSatisfy { $0.change == .unchanged || $0.change == .kept }
    }

    /// The definitions in none of the files that are dropped.
    var dropped: [RuleID] { items.filter { $0.change == .dropped }.map(\.id).filter { !changed.contains($0) } }

    /// The plan as JSON: each campaign of the files has its future times as `next`, and zones whose first time has
    /// passed as `passed`.
    package var json: JSONValue {
        var object = JSONObject()
        if kind != .policy { object["prune"] = .bool(prunes) }
        object["warnings"] = .array(warnings.map(JSONValue.string))
        object[kind.plural] = .array(
            items.map { item in
                var object = JSONObject()
                object["app"] = .string(item.id.app)
                if kind != .policy { object["name"] = .string(item.name) }
                object["change"] = .string(item.change.rawValue)
                object["differences"] = .array(item.differences.map(\.json))
                object["next"] = forecasts[item.id]?.json
                object["passed"] = forecasts[item.id]?.late?.json
                return .object(object)
            }
        )
        return .object(object)
    }
}
