internal import FanfareConfiguration
public import FanfareCore
internal import FanfareRecords

/// The changes that applying policy files makes.
public struct PoliciesPlan: Sendable {
    /// One app's policy.
    struct Item: Sendable {
        let app: String
        let change: FilesPlan.Change
        /// The differences, with the values before and after.
        let differences: [JSONDifference]
    }

    /// The items, ordered by app.
    let items: [Item]
    /// Likely mistakes that are not errors, a line each.
    public let warnings: [String]

    /// Compares the files with the database.
    ///
    /// - Parameters:
    ///   - wanted: the policies in the files.
    ///   - stored: the stored policies.
    ///   - configuredApps: the apps of the configuration; if it has none, there are no warnings about apps.
    init(_ wanted: [(app: String, policy: JSONValue)], stored: [PolicyRow], configuredApps: Set<String>) {
        let old = Dictionary(stored.map { ($0.app, $0.definition) }) { first, _ in first }
        let wanted = wanted.sorted { $0.app < $1.app }
        items = wanted.map { app, policy in
            let isNone = policy.objectValue?.isEmpty == true
            guard let before = old[app] else {
                return Item(app: app, change: isNone ? .unchanged : .added, differences: [])
            }
            let differences = JSONDifference.between(before, policy)
            let change = isNone ? FilesPlan.Change.dropped : differences.isEmpty ? .unchanged : .changed
            return Item(app: app, change: change, differences: differences)
        }
        let apps = configuredApps.isEmpty ? [] : wanted.map(\.app).filter { !configuredApps.contains($0) }
        warnings = apps.map { app in
            "the configuration has no app “\(app)”: its policy holds for what another daemon sends"
                + (NearestName.suggestion(for: app, among: configuredApps.sorted()).map { "; did you mean “\($0)”?" }
                    ?? "")
        }
    }

    /// Whether applying would change nothing.
    public var isEmpty: Bool { items.allSatisfy { $0.change == .unchanged } }

    /// The apps whose policy changes.
    var changed: Set<String> { Set(items.filter { $0.change != .unchanged }.map(\.app)) }

    /// The plan as JSON.
    public var json: JSONValue {
        [
            "warnings": .array(warnings.map(JSONValue.string)),
            "policies": .array(
                items.map {
                    [
                        "app": .string($0.app), "change": .string($0.change.rawValue),
                        "differences": .array($0.differences.map(\.json)),
                    ]
                }
            ),
        ]
    }

    /// The plan as text for people: a line per change, its differences below it, and a sum.
    public var text: String {
        let signs: [FilesPlan.Change: String] = [.added: "+", .changed: "~", .dropped: "-"]
        let lines = items.flatMap { item in
            signs[item.change].map { ["\($0) \(item.app)"] + item.differences.map { "    " + $0.text } } ?? []
        }
        let counts = [FilesPlan.Change.added, .changed, .unchanged, .dropped].map { change in
            "\(items.count { $0.change == change }) \(change.rawValue)"
        }
        return (lines + warnings.map { "warning: \($0)" } + [counts.joined(separator: ", ")]).joined(separator: "\n")
    }
}
