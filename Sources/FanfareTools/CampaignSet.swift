internal import FanfareCampaigns
internal import FanfareConfiguration
public import FanfareCore
internal import FanfareProviders
internal import FanfareStore

/// Campaigns from files, each checked as far as is possible without a database.
public struct CampaignSet: Sendable {
    struct Entry: Sendable {
        /// The file and line of the definition.
        let source: RuleSource
        let definition: CampaignDefinition

        var id: RuleID { RuleID(app: definition.app, name: definition.name) }
    }

    let entries: [Entry]

    /// The apps that the files name.
    public var apps: [String] { Set(entries.map(\.id.app)).sorted() }

    /// Reads files and checks every campaign in them.
    ///
    /// - Parameter files: paths of YAML files.
    /// - Throws: ``ToolError`` with all problems of all files, one per line: `campaigns.yaml:12: path: reason`.
    public init(files: [String]) throws(ToolError) {
        try self.init(FileEntries(files: files, of: .campaign))
    }

    /// Reads a list of campaigns and checks every one of them.
    ///
    /// - Parameter listed: the definitions as JSON.
    /// - Throws: ``ToolError`` with all problems, one per line, with the position in the list: `campaigns:3: path:
    ///   reason`.
    public init(listed: [JSONValue]) throws(ToolError) {
        try self.init(FileEntries(listed.enumerated().map { RuleSource($1, in: "campaigns", at: $0 + 1) }))
    }

    init(_ sources: [RuleSource]) throws(ToolError) {
        try self.init(FileEntries(sources))
    }

    private init(_ files: FileEntries) throws(ToolError) {
        entries = try files.read(id: \.id) { source throws(RuleProblem) in
            Entry(source: source, definition: try CampaignDefinition(json: source.json))
        }
    }
}
