internal import FanfareConfiguration
internal import FanfareCore
internal import FanfareProviders
internal import FanfareStore

/// Policies from files, one per app.
///
/// The database checks their contents.
public struct PolicySet: Sendable {
    struct Entry: Sendable {
        /// The file and line of the policy.
        let source: RuleSource
        let app: String
        let policy: JSONValue
    }

    let entries: [Entry]

    /// Reads files.
    ///
    /// - Parameter files: paths of YAML files.
    /// - Throws: ``ToolError`` with all problems of all files, one per line: `policies.yaml:12: app: reason`.
    public init(files: [String]) throws(ToolError) {
        try self.init(FileEntries(files: files, of: .policy))
    }

    init(_ sources: [RuleSource]) throws(ToolError) {
        try self.init(FileEntries(sources))
    }

    private init(_ files: FileEntries) throws(ToolError) {
        entries = try files.read(by: "app", id: { RuleID(app: $0.app, name: "") }) { source throws(RuleProblem) in
            let reader = try RuleObject(source.json, path: "")
            try reader.checkKeys(["app", "policy"])
            let app = try reader.string("app") ?? ""
            guard RuleNames.isApp(app) else {
                let reason = app.isEmpty ? "is missing" : "cannot be a name"
                throw RuleProblem(path: "app", reason: reason, hint: RuleNames.appHint)
            }
            guard let policy = reader.object["policy"] else {
                let hint = #"write {"rate": "1000/s"}, or {} for none"#
                throw RuleProblem(path: "policy", reason: "is missing", hint: hint)
            }
            return Entry(source: source, app: app, policy: policy)
        }
    }
}
