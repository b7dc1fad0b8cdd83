package import FanfareCore
package import FanfareProviders

/// A campaign as its author wrote it, read and checked: a schedule, and the rule by which its events go.
///
/// Its jsonpaths, its time zone and its days of the calendar are checked by PostgreSQL.
package struct CampaignDefinition: Sendable {
    /// What a campaign has beside what its rule has.
    private static let ownKeys = ["schedule", "payload", "rate", "canary"]
    private static let keys =
        ["name", "app"] + ownKeys
        + ["to", "message", "locales", "collapse", "ttl", "lane", "delivery", "badge_sql"]

    /// Unique within the app.
    package let name: String
    /// The app whose devices it reaches.
    package let app: String
    /// When it is due; nil if it is only started by hand.
    package let schedule: CampaignSchedule?
    /// What its events carry beside `campaign` and `scheduled_at`.
    package let payload: JSONObject
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
        let to = try reader.object("to")?.object
        for key in [AudienceKey.usersSQL, .tokens] where to?[key.rawValue] != nil {
            throw RuleProblem(
                path: "to.\(key.rawValue)",
                reason: "is not for campaigns",
                hint: "use users, topic, condition or everyone"
            )
        }
        if schedule?.timeZone == CampaignSchedule.recipient {
            try Self.checkWalked(reader, path: "schedule.time_zone", reason: "cannot be recipient for this audience")
        }
        if canary != nil { try Self.checkWalked(reader, path: "canary", reason: "cannot be for this audience") }
        rule = try CompiledRule(json: Self.rule(reader.object, name: name, app: app))
    }

    /// Refuses an audience that is not walked slice by slice, for what is decided there.
    private static func checkWalked(_ reader: RuleObject, path: String, reason: String) throws(RuleProblem) {
        let audience = try reader.object("to")?.object
        guard ["topic", "condition", "everyone"].allSatisfy({ audience?[$0] == nil }) else { return }
        throw RuleProblem(path: path, reason: reason, hint: "use topic, condition or everyone in to")
    }

    /// The campaign as it would be written, without defaults: what is stored, and compared to see whether it changed.
    package var json: JSONValue {
        var object = rule.definition.json.objectValue ?? JSONObject()
        object["event"] = nil
        object["name"] = .string(name)
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
        rule["name"] = .string(RuleNames.ofCampaign(name))
        rule["event"] = .string("campaign.\(app).\(name)")
        if rule["lane"] == nil { rule["lane"] = .string(Lane.bulk.name) }
        return .object(rule)
    }
}
