package import FanfareCore
package import FanfareProviders

/// A parsed and checked campaign: its schedule, and the rule for its events.
///
/// PostgreSQL checks the jsonpaths, the time zone and the calendar dates.
package struct CampaignDefinition: Sendable {
    /// The keys that a rule does not have.
    private static let ownKeys = ["schedule", "payload", "rate", "canary", "experiment", "audience_sql", "payload_sql"]

    /// The name, unique within the app.
    package let name: String
    /// The app whose devices the campaign reaches.
    package let app: String
    /// The schedule; nil if the campaign is only started manually.
    package let schedule: CampaignSchedule?
    /// The payload of its events, in addition to `campaign` and `scheduled_at`.
    package let payload: JSONObject
    /// A query that returns the users and their template variables; nil if `to` selects the audience.
    package let audienceSQL: String?
    /// A query that returns one event payload per row; nil if each run is one event.
    package let payloadSQL: String?
    /// The maximum rate; nil for no limit.
    package let rate: CampaignRate?
    /// The canary; nil if the whole audience is sent at once.
    package let canary: CampaignCanary?
    /// The experiment between its variants; nil if there is none.
    package let experiment: CampaignExperiment?
    /// The rule: audience, message and options.
    package let rule: CompiledRule

    /// Parses and compiles a campaign.
    ///
    /// - Parameter json: the campaign as JSON, or YAML converted to JSON.
    /// - Throws: `RuleProblem` with the first problem.
    package init(json: JSONValue) throws(RuleProblem) {
        let object = try RuleObject(json, path: "").object
        try DigestDefinition.refuse(in: object)
        try RetractDefinition.refuse(in: object)
        try DefinitionObject.campaign.check(object)
        name = object.text("name") ?? ""
        app = object.text("app") ?? ""
        schedule = try object["schedule"]?.objectValue.map { json throws(RuleProblem) in try CampaignSchedule(json) }
        payload = object["payload"]?.objectValue ?? JSONObject()
        rate = try object["rate"].map { json throws(RuleProblem) in try CampaignRate(json) }
        canary = try object["canary"]?.objectValue.map { json throws(RuleProblem) in try CampaignCanary(json) }
        experiment = try CampaignExperiment.read(object)
        audienceSQL = try Self.query("audience_sql", object)
        payloadSQL = try Self.query("payload_sql", object)
        for key in [AudienceKey.usersSQL, .tokens] where object["to"]?[key.rawValue] != nil {
            throw RuleProblem(
                path: "to.\(key.rawValue)",
                reason: "is not for campaigns",
                hint: "use users, topic, condition or everyone"
            )
        }
        try Self.checkQueries(object, isRecipientTime: schedule?.timeZone == CampaignSchedule.recipient)
        if schedule?.timeZone == CampaignSchedule.recipient {
            try Self.checkWalked(object, path: "schedule.time_zone", reason: "cannot be recipient for this audience")
        }
        for (key, isGiven) in [("canary", canary != nil), ("experiment", experiment != nil)] where isGiven {
            try Self.checkWalked(object, path: key, reason: "cannot be for this audience")
        }
        rule = try CompiledRule(json: Self.rule(object, name: name, app: app))
        try experiment?.check(
            rule.definition.groups,
            ttl: rule.definition.ttl ?? TimeSpan(seconds: 86_400),
            isByRecipientTime: schedule?.timeZone == CampaignSchedule.recipient
        )
    }

    /// What is sent first: the canary, or the sample of the experiment.
    package var sample: CampaignCanary? {
        canary ?? experiment.map { CampaignCanary(share: $0.share, wait: $0.wait ?? CampaignExperiment.standardWait) }
    }

    /// Rejects an audience that is not expanded in slices, for options that are applied while slicing.
    private static func checkWalked(_ object: JSONObject, path: String, reason: String) throws(RuleProblem) {
        guard object["audience_sql"] == nil,
            ["topic", "condition", "everyone"].allSatisfy({ object["to"]?[$0] == nil })
        else { return }
        let hint = "use topic, condition or everyone in to, or audience_sql"
        throw RuleProblem(path: path, reason: reason, hint: hint)
    }

    private static func query(_ key: String, _ object: JSONObject) throws(RuleProblem) -> String? {
        guard let sql = object.text(key) else { return nil }
        guard sql.utf8.count <= RuleDefinition.sqlLimit, !sql.utf8.contains(0),
            sql.contains(where: { !$0.isWhitespace })
        else {
            let hint = "write a SELECT of at most \(RuleDefinition.sqlLimit) bytes"
            throw RuleProblem(path: key, reason: "is empty, or too long", hint: hint)
        }
        return sql
    }

    /// Rejects keys that cannot be combined with a query; PostgreSQL checks the SQL itself.
    private static func checkQueries(_ object: JSONObject, isRecipientTime: Bool) throws(RuleProblem) {
        let hasAudience = object["audience_sql"] != nil
        let hasPayloads = object["payload_sql"] != nil
        let perRow = "each row is an event of its own: use audience_sql"
        if hasAudience && hasPayloads {
            throw RuleProblem(path: "payload_sql", reason: "is beside audience_sql", hint: "give one of the two")
        }
        for key in object["to"]?.objectValue?.keys.compactMap(AudienceKey.init(rawValue:)) ?? [] {
            if hasAudience {
                throw RuleProblem(
                    path: "to.\(key.rawValue)",
                    reason: "is beside audience_sql, which says who",
                    hint: "leave it out; devices, provider, kind, permission and presents may be there"
                )
            }
            if hasPayloads && [.fcmTopic, .fcmCondition, .channel].contains(key) {
                throw RuleProblem(path: "payload_sql", reason: "cannot be with to.\(key.rawValue)", hint: perRow)
            }
        }
        for key in ["canary", "experiment"] where hasPayloads && object[key] != nil {
            throw RuleProblem(path: key, reason: "cannot be with payload_sql", hint: perRow)
        }
        if hasPayloads && isRecipientTime {
            let reason = "cannot be recipient with payload_sql"
            throw RuleProblem(path: "schedule.time_zone", reason: reason, hint: perRow)
        }
    }

    /// The campaign as JSON, without defaults: stored, and compared to detect changes.
    package var json: JSONValue {
        var object = rule.definition.json.objectValue ?? JSONObject()
        object["event"] = nil
        object["name"] = .string(name)
        if audienceSQL != nil {
            var to = object["to"]?.objectValue ?? JSONObject()
            to[AudienceKey.staged.rawValue] = nil
            object["to"] = to.isEmpty ? nil : .object(to)
        }
        object["audience_sql"] = audienceSQL.map(JSONValue.string)
        object["payload_sql"] = payloadSQL.map(JSONValue.string)
        object["schedule"] = schedule?.json
        object["rate"] = rate?.json
        object["canary"] = canary?.json
        object["experiment"] = experiment?.json
        if !payload.isEmpty { object["payload"] = .object(payload) }
        // Campaigns default to `bulk`.
        object["lane"] = rule.definition.lane == .bulk ? nil : .string(rule.definition.lane.name)
        return .object(object)
    }

    /// Returns the campaign's rule, the same as `fanfare.campaign_rule` returns.
    private static func rule(_ campaign: JSONObject, name: String, app: String) -> JSONValue {
        var rule = campaign
        for key in ownKeys { rule[key] = nil }
        if campaign["audience_sql"] != nil, case let to = campaign["to"] ?? .object(JSONObject()),
            var filters = to.objectValue
        {
            filters[AudienceKey.staged.rawValue] = true
            rule["to"] = .object(filters)
        }
        rule["name"] = .string(RuleNames.ofCampaign(name))
        rule["event"] = .string("campaign.\(app).\(name)")
        if rule["lane"] == nil { rule["lane"] = .string(Lane.bulk.name) }
        return .object(rule)
    }
}
