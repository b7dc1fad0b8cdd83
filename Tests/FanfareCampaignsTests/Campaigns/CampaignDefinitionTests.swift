import FanfareCore
import FanfareProviders
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareSending
@testable import FanfareService

/// The campaign definitions that the daemon and the commands accept: those of SQL, and cron expressions.
@Suite(.database)
struct CampaignDefinitionTests {
    private static let whole = #"""
        {"app": "shop", "name": "weekly", "payload": {"sale": "winter"}, "rate": "500/s", "lane": "normal", "ttl": "4h",
         "schedule": {"cron": "0 9 * * mon", "time_zone": "recipient", "default_time_zone": "Asia/Tokyo", "catch_up": "all"},
         "to": {"topic": "news", "provider": "apns"}, "message": {"notification": {"title": "Hi"}}}
        """#

    @Test func itsRuleIsTheOneThatSQLMakes() throws {
        let campaign = try CampaignDefinition(json: JSONValue(parsing: Self.whole))
        let stored = try World().connection.text("SELECT fanfare.campaign_rule($1::jsonb)::text", Self.whole)
        let rule = try RuleDefinition(json: JSONValue(parsing: #require(stored)))
        #expect(campaign.rule.definition == rule)
        #expect(rule.name == "campaign/weekly")
        #expect(rule.event == "campaign.shop.weekly")
        #expect(rule.lane == .normal)
    }

    @Test(arguments: [
        #""audience_sql": "SELECT 'u'", "to": {"provider": "apns"}"#, #""audience_sql": "SELECT 'u'""#,
        #""payload_sql": "SELECT '{}'", "to": {"users": "$.u"}"#,
    ])
    func aQueryIsTheCampaignsAndNotItsRules(members: String) throws {
        let json = #"{"app": "shop", "name": "c", "message": {"data": {"a": "b"}}, \#(members)}"#
        let campaign = try CampaignDefinition(json: JSONValue(parsing: json))
        #expect(campaign.json == (try JSONValue(parsing: json)))
        let stored = try World().connection.text("SELECT fanfare.campaign_rule($1::jsonb)::text", json)
        #expect(campaign.rule.definition == (try RuleDefinition(json: JSONValue(parsing: #require(stored)))))
        #expect(campaign.rule.definition.json["audience_sql"] == nil)
    }

    @Test func whatIsSaidOfAUserIsRenderedForEachDevice() throws {
        func campaign(_ title: String) throws -> CampaignDefinition {
            let json =
                #"{"app": "shop", "name": "c", "audience_sql": "SELECT 'u'", "message": {"notification": {"title": "\#(title)"}}}"#
            return try CampaignDefinition(json: JSONValue(parsing: json))
        }
        for title in ["{{recipient.first_name}}", "{{user.first_name}}", "{{#recipient}}Hi{{/recipient}}"] {
            #expect(try campaign(title).rule.needsVariables && campaign(title).rule.needsDevice, "\(title)")
        }
        #expect(try !campaign("{{user.id}}").rule.needsVariables)
        #expect(try !campaign("{{recipients}}").rule.needsDevice)
    }

    @Test func whatItSaysIsWrittenAgain() throws {
        let campaign = try CampaignDefinition(json: JSONValue(parsing: Self.whole))
        #expect(try CampaignDefinition(json: campaign.json).json == campaign.json)
        for key in ["schedule", "payload", "rate", "lane", "ttl", "to", "message", "name", "app"] {
            #expect(campaign.json[key] == (try JSONValue(parsing: Self.whole))[key], "\(key)")
        }
        #expect(campaign.json["event"] == nil)
        let short =
            #"{"app": "shop", "name": "c", "lane": "bulk", "to": {"everyone": true}, "message": {"data": {"a": "b"}}}"#
        let defaults = try CampaignDefinition(json: JSONValue(parsing: short))
        #expect(defaults.json["lane"] == nil)
        #expect(defaults.schedule == nil)
    }

    /// A word that the list of keys allows, but the schedule does not know, would count as the default.
    @Test func theListOfKeysAllowsTheWordsThatAScheduleHas() throws {
        let key = try #require(DefinitionObject.schedule.keys.first { $0.name == "catch_up" })
        guard case .word(let words) = key.form else { throw RuleProblem(path: key.name, reason: "is no word") }
        #expect(words == CampaignSchedule.CatchUp.allCases.map(\.rawValue))
    }

    @Test(arguments: [
        (#""name": "a/b""#, "name: cannot be a name"), (#""schedule": {}"#, "schedule: has neither at nor cron"),
        (#""schedule": {"cron": "* * * * *", "at": "2099-01-01T00:00"}"#, "schedule: has at and cron"),
        (#""schedule": {"at": "9 o'clock"}"#, "schedule.at: is not a time of day"),
        (#""schedule": {"cron": "0 9 31 2 *"}"#, "schedule.cron: day: no such day: February has 29 at most"),
        (#""schedule": {"cron": "0 9 * *"}"#, "schedule.cron: 4 fields"),
        (#""schedule": {"cron": "@reboot"}"#, "schedule.cron: '@reboot' is not a time"),
        (#""schedule": {"cron": "* * * * *", "catch_up": "al"}"#, "schedule.catch_up: 'al' is not one of its values"),
        (#""schedule": {"cron": "* * * * *", "default_time_zone": "UTC"}"#, "schedule.default_time_zone: needs"),
        (#""schedule": {"crom": "* * * * *"}"#, "schedule.crom: unknown key; did you mean 'cron'?"),
        (#""rate": "0/s""#, "rate: 0/s is 0/s"), (#""rate": "30/m""#, "rate: 30/m is 0.5/s"),
        (#""rate": "2000000/s""#, "rate: 2000000/s is 2000000/s"), (#""rate": "fast""#, "rate: 'fast' is not a rate"),
        (#""to": {"users_sql": "SELECT 1"}"#, "to.users_sql: is not for campaigns"),
        (#""to": {"tokens": "$.token"}"#, "to.tokens: is not for campaigns"), (#""payload": 1"#, "payload: is "),
        (#""audience_sql": "SELECT 1""#, "to.everyone: is beside audience_sql, which says who"),
        (#""audience_sql": " ", "to": {}"#, "audience_sql: is empty"), (#""audience_sql": 1"#, "audience_sql: is "),
        (#""payload_sql": "SELECT 1", "audience_sql": "SELECT 1""#, "payload_sql: is beside audience_sql"),
        (#""payload_sql": "SELECT 1", "to": {"fcm_topic": "t"}"#, "payload_sql: cannot be with to.fcm_topic; each row"),
        (
            #""payload_sql": "SELECT 1", "schedule": {"cron": "* * * * *", "time_zone": "recipient"}"#,
            "schedule.time_zone: cannot be recipient with payload_sql; each row"
        ), (#""to": {"staged": true}"#, "to.staged: unknown key"),
        (#""payload_sql": "SELECT 1", "canary": {"share": "1%"}"#, "canary: cannot be with payload_sql; each row"),
        (#""event": "x""#, "event: unknown key"), (#""message": {}"#, "message: is empty"),
    ])
    func whatCannotBeIsRefusedWithItsPlace(member: String, problem: String) throws {
        let json =
            #"{"app": "shop", "name": "c", "to": {"everyone": true}, "message": {"data": {"a": "b"}}, \#(member)}"#
        // If a key occurs twice, the last one counts, as in jsonb.
        let value = try JSONValue(parsing: json, keeping: member)
        let error = #expect(throws: RuleProblem.self) { try CampaignDefinition(json: value) }
        #expect(error?.description.hasPrefix(problem) == true, "\(error?.description ?? "it was taken")")
    }
}

extension JSONValue {
    /// Parses an object, without the members that the given text replaces.
    fileprivate init(parsing json: String, keeping member: String) throws {
        let own = try JSONValue(parsing: "{\(member)}")
        var object = try JSONValue(parsing: json.replacing(", \(member)}", with: "}")).objectValue ?? JSONObject()
        for member in own.objectValue?.members ?? [] { object[member.key] = member.value }
        self = .object(object)
    }
}
