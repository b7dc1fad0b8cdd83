package import FanfareConfiguration
package import FanfareCore
package import FanfareExplain
internal import FanfareProviders
package import FanfareRecords
package import FanfareTools
internal import PostgresClient

/// One version of a rule.
package struct RuleSummary: Sendable {
    package let rule: RuleRow
    /// The versions, the newest first.
    package let versions: [RuleVersionsRow]
    /// The version shown.
    package let shown: RuleVersionsRow
    /// The previous version; nil for the first one.
    package let before: RuleVersionsRow?
    /// The outcomes of all versions in seven days.
    package let outcomes: [RuleOutcomesRow]
}

/// What a rule would do with an event, which is not emitted.
package struct RuleTrial: Sendable {
    package let judgement: RuleJudgement
    /// The messages; empty if the rule does not match.
    package let messages: [RuleExplanation]
    /// The locale of the user's newest device; nil if there is none.
    package let locale: String?
}

extension ToolDatabase {
    /// The number of days of recent outcomes.
    package static let daysOfRules: Int32 = 7

    /// Reads one rule.
    ///
    /// - Parameters:
    ///   - id: the rule's id.
    ///   - version: the version; nil for the newest.
    /// - Returns: the rule; nil if there is no such rule or version.
    /// - Throws: ``ToolError``.
    package func ruleSummary(_ id: RuleID, version: Int32?) async throws(ToolError) -> RuleSummary? {
        guard !RuleNames.isOfCampaign(id.name) else { return nil }
        return try await run { connection throws(PostgresError) in
            let rule = try connection.run(SQL.storedRules([id.app])).first { $0.name == id.name }
            let versions = try connection.run(SQL.ruleVersions(id.app, id.name, nil, 50))
            guard let rule, let newest = versions.first else { return nil }
            let wanted = version ?? newest.version
            // The oldest listed version needs its predecessor too.
            let delivery = try connection.run(SQL.ruleVersions(id.app, id.name, wanted &+ 1, 2))
            guard let shown = delivery.first, shown.version == wanted else { return nil }
            return RuleSummary(
                rule: rule,
                versions: versions,
                shown: shown,
                before: delivery.dropFirst().first,
                outcomes: try connection.run(SQL.ruleOutcomes(id.app, id.name, Self.daysOfRules))
            )
        }
    }

    /// Tries a rule on an event; emits and changes nothing.
    ///
    /// - Parameters:
    ///   - definition: the rule's JSON.
    ///   - payload: the event's payload, a JSON object as text.
    ///   - user: the user whose devices and locale are used; nil for none.
    ///   - configuration: supplies the credentials to compare with the audience.
    /// - Returns: the result.
    /// - Throws: ``ToolError``, also if the rule is invalid; of kind `usage` if the payload is not a JSON object.
    package func tryRule(
        _ definition: JSONValue,
        payload: String,
        user: String?,
        _ configuration: Configuration
    ) async throws(ToolError) -> RuleTrial {
        let set = try RuleSet(stored: definition)
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
            // The variant of this user only.
            let variant = try await rows(of: SQL.ruleVariant(definition.text, user)).first ?? nil
            messages = messages.filter { $0.variant == variant }
        }
        return RuleTrial(judgement: judgement, messages: messages, locale: example.locale)
    }

    /// Returns a user's enabled devices.
    ///
    /// - Parameters:
    ///   - user: the user's id.
    ///   - app: the app; nil for all.
    /// - Returns: at most 200, the newest first.
    /// - Throws: ``ToolError``.
    package func liveDevices(of user: String, app: String?) async throws(ToolError) -> [RegisteredDevice] {
        try await run { connection throws(PostgresError) in
            try connection.run(SQL.userDevices(user, app)).filter { $0.disabledAt == nil }
        }
    }
}
