package import FanfareConfiguration
package import FanfareCore
internal import FanfareProviders
package import FanfareStore
internal import PostgresClient

/// Rules with what became of what they sent lately.
package struct RuleListing: Sendable {
    /// All that people put.
    package let rules: [RuleRow]
    /// Those that were chosen.
    package let shown: [RuleRow]
    /// By rule, for those that are shown.
    package let weeks: [RuleID: RuleWeeks.Row]
}

/// One rule in one of its versions.
package struct RuleSummary: Sendable {
    package let rule: RuleRow
    /// The newest first.
    package let versions: [RuleVersions.Row]
    /// The one that is looked at.
    package let shown: RuleVersions.Row
    /// The one before that; nil for the first.
    package let before: RuleVersions.Row?
    /// Of seven days, all versions.
    package let outcomes: [RuleOutcomes.Row]
}

/// What a rule would do with an event that is not emitted.
package struct RuleTrial: Sendable {
    package let judgement: RuleJudgement
    /// What it would send; nothing where it does not match the event.
    package let messages: [RuleExplanation]
    /// The locale of the user's newest device; nil where there is none.
    package let locale: String?
}

extension ToolDatabase {
    /// How many days are looked back on.
    package static let daysOfRules: Int32 = 7

    /// Lists rules, and tells more of some of them.
    ///
    /// - Parameter choose: those that more is told of, in their order.
    /// - Returns: the rules that people put; what campaigns became belongs to these.
    /// - Throws: ``ToolError``.
    package func ruleListing(
        _ choose: @escaping @Sendable ([RuleRow]) -> [RuleRow]
    ) async throws(ToolError) -> RuleListing {
        try await run { connection throws(PostgresError) in
            let rules = try connection.run(StoredRules(apps: nil)).filter { !RuleNames.isOfCampaign($0.name) }
            let shown = choose(rules)
            let rows = try connection.run(RuleWeeks(of: shown.map(\.id), days: Self.daysOfRules))
            let weeks = rows.map { (shown[Int($0.position) - 1].id, $0) }
            return RuleListing(rules: rules, shown: shown, weeks: Dictionary(weeks) { $1 })
        }
    }

    /// Looks at one rule.
    ///
    /// - Parameters:
    ///   - id: which.
    ///   - version: in which version; nil for the newest.
    /// - Returns: the rule; nil if there is no such rule or version.
    /// - Throws: ``ToolError``.
    package func ruleSummary(_ id: RuleID, version: Int32?) async throws(ToolError) -> RuleSummary? {
        guard !RuleNames.isOfCampaign(id.name) else { return nil }
        return try await run { connection throws(PostgresError) in
            let rule = try connection.run(StoredRules(apps: [id.app])).first { $0.name == id.name }
            let versions = try connection.run(RuleVersions(of: id, limit: 50))
            guard let rule, let newest = versions.first else { return nil }
            let wanted = version ?? newest.version
            // The oldest of those that are listed has one before it too.
            let delivery = try connection.run(RuleVersions(of: id, before: wanted &+ 1, limit: 2))
            guard let shown = delivery.first, shown.version == wanted else { return nil }
            return RuleSummary(
                rule: rule,
                versions: versions,
                shown: shown,
                before: delivery.dropFirst().first,
                outcomes: try connection.run(RuleOutcomes(of: id, days: Self.daysOfRules))
            )
        }
    }

    /// Tells what a rule would do with an event; nothing is emitted, and nothing changes.
    ///
    /// - Parameters:
    ///   - definition: the rule's JSON.
    ///   - payload: the event's, a JSON object as text.
    ///   - user: whose devices and locale count; nil for nobody's.
    ///   - configuration: whose credentials are compared with the audience.
    /// - Returns: what it would do.
    /// - Throws: ``ToolError``, also where the rule makes no sense; of kind `usage` if the payload is no JSON object.
    package func tryRule(
        _ definition: JSONValue,
        payload: String,
        user: String?,
        _ configuration: Configuration
    ) async throws(ToolError) -> RuleTrial {
        let set = try RuleSet(definition: definition)
        var example = ExampleEvent(payload: payload)
        example.userID = user
        if let user {
            let app = definition["app"]?.stringValue
            example.locale = try await liveDevices(of: user, app: app).lazy.compactMap(\.locale).first
        }
        guard let judgement = try await judge(set, example, configuration).first else {
            throw ToolError(.failed, "the rule was not judged")
        }
        var messages = judgement.isMatched ? try await set.explain(example, configuration) : []
        if let user, messages.contains(where: { $0.variant != nil }) {
            // What the user gets, whatever the others do.
            let variant = try await run { connection throws(PostgresError) in
                try connection.run(RuleVariant(of: definition.text, user: user)).first ?? nil
            }
            messages = messages.filter { $0.variant == variant }
        }
        return RuleTrial(judgement: judgement, messages: messages, locale: example.locale)
    }

    /// A user's devices that get pushes.
    ///
    /// - Parameters:
    ///   - user: whose.
    ///   - app: of this app; nil for all.
    /// - Returns: at most 200, the newest first.
    /// - Throws: ``ToolError``.
    package func liveDevices(of user: String, app: String?) async throws(ToolError) -> [RegisteredDevice] {
        try await run { connection throws(PostgresError) in
            try connection.run(UserDevices(user: user, app: app)).filter { $0.disabledAt == nil }
        }
    }
}
