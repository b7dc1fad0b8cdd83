package import FanfareCampaigns
package import FanfareConfiguration
package import FanfareCore
package import FanfareProviders
package import FanfareRecords
package import PostgresClient

/// A kind of definition that people keep in files: rules, campaigns or the policies of apps.
package protocol FileDefinition: Sendable {
    /// A stored definition.
    associatedtype Row: StoredDefinition

    /// The kind that files of them have.
    static var kind: RulesFile.Kind { get }
    /// Returns what the database would refuse, in the order of the definitions.
    static var faults: Statement<RuleProblem?, [String]> { get }
    /// Whether new versions in some apps wait for a daemon's check; nil if they take effect at once.
    static var unchecked: Statement<Bool, [String]>? { get }

    /// Its app and its name; for an app's policy, the name is empty.
    var id: RuleID { get }
    /// Its canonical JSON.
    var json: JSONValue { get }
    /// Whether it removes the stored one.
    var isRemoval: Bool { get }
    /// Likely mistakes that are not errors, a line each.
    var advice: [String] { get }

    /// Decodes an entry of a file, and checks it as far as is possible without a database.
    init(entry: JSONValue) throws(RuleProblem)

    /// Reads the stored definitions of some apps; of all, if `apps` is nil.
    static func stored(_ apps: [String]?) -> StatementCall<Row>

    /// Stores the definitions that changed, marks those of the files, and drops others.
    static func store(
        _ changed: [Self],
        marking ids: [RuleID],
        dropping dropped: [RuleID],
        on connection: PostgresConnection
    ) throws(PostgresError)

    /// Finds when valid definitions would be due; the error tells of those that never are.
    static func forecasts(
        _ set: DefinitionSet<Self>,
        at now: Timestamp?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Result<[RuleID: CampaignForecast], ToolError>
}

/// A stored definition of one ``FileDefinition``.
package protocol StoredDefinition: Sendable {
    /// Its app and its name.
    var id: RuleID { get }
    /// The newest version without defaults, in a form that can be compared.
    var canonical: JSONValue { get }
    /// Whether it is of the kind; false for the rules of campaigns.
    var isListed: Bool { get }
    /// Whether it came from a file, so that pruning may drop it.
    var isFromFile: Bool { get }
    /// Whether a daemon refused it.
    var isRefused: Bool { get }
    /// Whether no daemon has checked the newest version yet.
    var isUnchecked: Bool { get }
    /// The definition and its state as JSON.
    var json: JSONValue { get }
}

extension StoredDefinition {
    package var isListed: Bool { true }
}

extension FileDefinition {
    package var isRemoval: Bool { false }

    package var advice: [String] { [] }

    package static func forecasts(
        _ set: DefinitionSet<Self>,
        at now: Timestamp?,
        on connection: PostgresConnection
    ) throws(PostgresError) -> Result<[RuleID: CampaignForecast], ToolError> {
        .success([:])
    }
}

extension CompiledRule: FileDefinition {
    package static var kind: RulesFile.Kind { .rule }
    package static var faults: Statement<RuleProblem?, [String]> { SQL.ruleErrors }
    package static var unchecked: Statement<Bool, [String]>? { SQL.areRulesUnchecked }

    package var id: RuleID { RuleID(app: definition.app, name: definition.name) }
    package var json: JSONValue { definition.json }

    package init(entry: JSONValue) throws(RuleProblem) {
        try self.init(json: entry)
        // Campaigns are stored as rules under reserved names, which rules in files must not use.
        guard RuleNames.isRule(definition.name) else {
            throw RuleProblem(path: "name", reason: "cannot be a name", hint: RuleNames.ruleHint)
        }
    }

    package static func stored(_ apps: [String]?) -> StatementCall<RuleRow> { SQL.storedRules(apps) }

    package static func store(
        _ changed: [CompiledRule],
        marking ids: [RuleID],
        dropping dropped: [RuleID],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        try connection.run(SQL.putRules(changed.map(\.json.text)))
        try connection.run(SQL.markRulesFromFile(ids.map(\.app), ids.map(\.name)))
        for id in dropped { try connection.run(SQL.dropRule(id.app, id.name)) }
    }
}

extension CampaignDefinition: FileDefinition {
    package static var kind: RulesFile.Kind { .campaign }
    package static var faults: Statement<RuleProblem?, [String]> { SQL.campaignErrors }
    package static var unchecked: Statement<Bool, [String]>? { SQL.areCampaignsUnchecked }

    package var id: RuleID { RuleID(app: app, name: name) }

    package var advice: [String] { rule.advice }

    package init(entry: JSONValue) throws(RuleProblem) {
        try self.init(json: entry)
    }

    package static func stored(_ apps: [String]?) -> StatementCall<CampaignRow> { SQL.storedCampaigns(apps, nil) }

    package static func store(
        _ changed: [CampaignDefinition],
        marking ids: [RuleID],
        dropping dropped: [RuleID],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        try connection.run(SQL.putCampaigns(changed.map(\.json.text)))
        try connection.run(SQL.markCampaignsFromFile(ids.map(\.app), ids.map(\.name)))
        for id in dropped { _ = try connection.change(.drop, of: id) }
    }
}

/// An app's policy; the database checks its contents.
package struct AppPolicy: FileDefinition {
    package static var kind: RulesFile.Kind { .policy }
    package static var faults: Statement<RuleProblem?, [String]> { SQL.policyErrors }
    package static var unchecked: Statement<Bool, [String]>? { nil }

    package let id: RuleID
    package let json: JSONValue

    /// Whether it is `{}`, which is no policy.
    package var isRemoval: Bool { json.objectValue?.isEmpty == true }

    package init(entry: JSONValue) throws(RuleProblem) {
        let reader = try RuleObject(entry, path: "")
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
        (id, json) = (RuleID(app: app, name: ""), policy)
    }

    package static func stored(_ apps: [String]?) -> StatementCall<PolicyRow> { SQL.storedPolicies(apps) }

    package static func store(
        _ changed: [AppPolicy],
        marking ids: [RuleID],
        dropping dropped: [RuleID],
        on connection: PostgresConnection
    ) throws(PostgresError) {
        try connection.run(SQL.putPolicies(changed.map(\.id.app), changed.map(\.json.text)))
    }
}
