package import FanfareCore
package import FanfareProviders

/// A campaign as its author wrote it, read and checked: a schedule, and the rule by which its events go.
///
/// Its jsonpaths, its time zone and its days of the calendar are checked by PostgreSQL.
package struct CampaignDefinition: Sendable {
    /// What a campaign has beside what its rule has.
    private static let ownKeys = ["schedule", "payload", "rate", "canary", "audience_sql", "payload_sql"]
    /// The longest query, in bytes.
    static let queryLimit = 16 * 1024
    private static let keys =
        ["name", "app"] + ownKeys
        + ["to", "message", "locales", "collapse", "ttl", "lane", "delivery", "badge_sql"]
        + ["category", "quiet_hours", "caps", "variants", "holdout"]

    /// Unique within the app.
    package let name: String
    /// The app whose devices it reaches.
    package let app: String
    /// When it is due; nil if it is only started manually.
    package let schedule: CampaignSchedule?
    /// What its events carry beside `campaign` and `scheduled_at`.
    package let payload: JSONObject
    /// A query that gives whom it reaches, and what its message may say of each; nil where `to` says who.
    package let audienceSQL: String?
    /// A query that gives the payload of an event in each row; nil where each time it fires is one event.
    package let payloadSQL: String?
    /// How fast it is sent at most; nil for as fast as it goes.
    package let rate: CampaignRate?
    /// Who goes first; nil where all go at once.
    package let canary: CampaignCanary?
    /// Whom it reaches with what.
    package let rule: CompiledRule

    /// Reads and compiles a campaign.
    ///
    /// - Parameter json: the campaign as JSON, or YAML turned into JSON.
    /// - Throws: `RuleProblem` with the first thing that is wrong.
    package init(json: JSONValue) throws(RuleProblem) {
        let reader = try RuleObject(json, path: "")
        try DigestDefinition.refuse(in: reader)
        try reader.checkKeys(Self.keys)
        name = try reader.string("name") ?? ""
        app = try reader.string("app") ?? ""
        guard RuleNames.isRule(name) else {
            throw RuleProblem(
                path: "name",
                reason: name.isEmpty ? "is missing" : "cannot be a name",
                hint: RuleNames.ruleHint
            )
        }
        schedule = try reader.object("schedule").map { reader throws(RuleProblem) in try CampaignSchedule(reader) }
        payload = try reader.object("payload")?.object ?? JSONObject()
        rate = try reader.object["rate"].map { json throws(RuleProblem) in try CampaignRate(json, path: "rate") }
        canary = try reader.object("canary").map { reader throws(RuleProblem) in try CampaignCanary(reader) }
        audienceSQL = try Self.query("audience_sql", reader)
        payloadSQL = try Self.query("payload_sql", reader)
        let to = try reader.object("to")?.object
        for key in [AudienceKey.usersSQL, .tokens] where to?[key.rawValue] != nil {
            throw RuleProblem(
                path: "to.\(key.rawValue)",
                reason: "is not for campaigns",
                hint: "use users, topic, condition or everyone"
            )
        }
        try Self.checkQueries(reader, isRecipientTime: schedule?.timeZone == CampaignSchedule.recipient)
        if schedule?.timeZone == CampaignSchedule.recipient {
            try Self.checkWalked(reader, path: "schedule.time_zone", reason: "cannot be recipient for this audience")
        }
        if canary != nil { try Self.checkWalked(reader, path: "canary", reason: "cannot be for this audience") }
        rule = try CompiledRule(json: Self.rule(reader.object, name: name, app: app))
    }

    /// Refuses an audience that is not walked slice by slice, for what is decided there.
    private static func checkWalked(_ reader: RuleObject, path: String, reason: String) throws(RuleProblem) {
        let audience = try reader.object("to")?.object
        guard reader.object["audience_sql"] == nil,
            ["topic", "condition", "everyone"].allSatisfy({ audience?[$0] == nil })
        else { return }
        let hint = "use topic, condition or everyone in to, or audience_sql"
        throw RuleProblem(path: path, reason: reason, hint: hint)
    }

    private static func query(_ key: String, _ reader: RuleObject) throws(RuleProblem) -> String? {
        guard let sql = try reader.string(key) else { return nil }
        guard sql.utf8.count <= queryLimit, !sql.utf8.contains(0), sql.contains(where: { !$0.isWhitespace }) else {
            let hint = "write a SELECT of at most \(queryLimit) bytes"
            throw RuleProblem(path: key, reason: "is empty, or too long", hint: hint)
        }
        return sql
    }

    /// What cannot be beside a query; that PostgreSQL can read it, PostgreSQL says.
    private static func checkQueries(_ reader: RuleObject, isRecipientTime: Bool) throws(RuleProblem) {
        let hasAudience = reader.object["audience_sql"] != nil
        let hasPayloads = reader.object["payload_sql"] != nil
        let perRow = "each row is an event of its own: use audience_sql"
        if hasAudience && hasPayloads {
            throw RuleProblem(path: "payload_sql", reason: "is beside audience_sql", hint: "give one of the two")
        }
        for key in try reader.object("to")?.object.keys.compactMap(AudienceKey.init(rawValue:)) ?? [] {
            if hasAudience && key != .staged {
                throw RuleProblem(
                    path: "to.\(key.rawValue)",
                    reason: "is beside audience_sql, which says who",
                    hint: "leave it out; devices, provider and kind may be there"
                )
            }
            if hasPayloads && [.fcmTopic, .fcmCondition, .channel].contains(key) {
                throw RuleProblem(path: "payload_sql", reason: "cannot be with to.\(key.rawValue)", hint: perRow)
            }
            if key == .staged {
                throw RuleProblem(path: "to.staged", reason: "unknown key", hint: "write audience_sql beside to")
            }
        }
        if hasPayloads && reader.object["canary"] != nil {
            throw RuleProblem(path: "canary", reason: "cannot be with payload_sql", hint: perRow)
        }
        if hasPayloads && isRecipientTime {
            let reason = "cannot be recipient with payload_sql"
            throw RuleProblem(path: "schedule.time_zone", reason: reason, hint: perRow)
        }
    }

    /// The campaign as it would be written, without defaults: what is stored, and compared to see whether it changed.
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
        if !payload.isEmpty { object["payload"] = .object(payload) }
        // Where a campaign says nothing, its rule says `bulk`.
        object["lane"] = rule.definition.lane == .bulk ? nil : .string(rule.definition.lane.name)
        return .object(object)
    }

    /// The rule that it becomes: the same as `fanfare.campaign_rule` makes of it.
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
