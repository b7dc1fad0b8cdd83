import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareCore
@testable import FanfareProviders

/// The members of a rule for digest and debounce: the same in SQL and in the daemon.
@Suite(.database)
struct DigestKeyTests {
    private static let faults: [(members: String, place: String, reason: String)] = [
        (#""digest": "10m""#, "digest", "is not an object"),
        (#""debounce": []"#, "debounce", "is not an object"),
        (#""digest": {"by": "{{u}}"}"#, "digest.every", "is missing"),
        (#""digest": {"every": 600, "by": "{{u}}"}"#, "digest.every", "is not a duration from 1s to 24h"),
        (#""digest": {"every": "0s", "by": "{{u}}"}"#, "digest.every", "is not a duration from 1s to 24h"),
        (#""digest": {"every": "25h", "by": "{{u}}"}"#, "digest.every", "is not a duration from 1s to 24h"),
        (#""digest": {"every": "10m"}"#, "digest.by", "is missing"),
        (#""digest": {"every": "10m", "by": ""}"#, "digest.by", "is empty"),
        (#""digest": {"every": "10m", "by": 7}"#, "digest.by", "is not a string"),
        (#""debounce": {"by": "{{u}}"}"#, "debounce.wait", "is missing"),
        (
            #""debounce": {"wait": "1m", "longest": "2d", "by": "{{u}}"}"#, "debounce.longest",
            "is not a duration from 1s to 24h"
        ),
        (#""debounce": {"wait": "2m", "longest": "1m", "by": "{{u}}"}"#, "debounce.longest", "is shorter than wait"),
        (
            #""digest": {"every": "10m", "by": "{{u}}"}, "debounce": {"wait": "1m", "by": "{{u}}"}"#, "debounce",
            "is beside digest"
        ),
    ]

    private static func rule(_ members: String, event: String = "e") -> String {
        #"{"app": "shop", "name": "n", "event": "\#(event)", "to": {"everyone": true}, "message": {"data": {"a": "b"}}, "#
            + "\(members)}"
    }

    @Test(arguments: faults)
    func whatIsWrongIsRefusedByBoth(fault: (members: String, place: String, reason: String)) throws {
        let connection = try TestDatabase.current.connect()
        let json = Self.rule(fault.members)
        let problem = try #require(problem { () throws(RuleProblem) in _ = try RuleDefinition(json: parsed(json)) })
        #expect([problem.path, problem.reason] == [fault.place, fault.reason])
        let inSQL = try connection.query("SELECT place, reason, hint FROM fanfare.rule_error($1::jsonb)", json).rows[0]
        #expect(inSQL == [fault.place, fault.reason, problem.hint])
        let refusal = #expect(throws: PostgresError.self) {
            try connection.query("SELECT fanfare.put_rule($1::jsonb)", json)
        }
        #expect(refusal?.sqlState == "22023" && refusal?.hint == problem.hint)
    }

    /// An event that is a digest is not collected again; otherwise two rules could feed each other for ever.
    @Test(arguments: ["digest", "debounce"])
    func whatCannotBeGatheredIsRefused(key: String) throws {
        let connection = try TestDatabase.current.connect()
        let members = #""\#(key)": {"\#(key == "digest" ? "every" : "wait")": "1m", "by": "{{u}}"#
        let again = Self.rule(members + "\"}", event: "digest.shop.n")
        let unknown = Self.rule(members + #"", "until": "1m"}"#)
        let campaign =
            #"{"app": "shop", "name": "n", "to": {"everyone": true}, "message": {"data": {"a": "b"}}, \#(members)"}}"#
        for (function, json, place, reason) in [
            ("rule_error", again, "event", "is of events that were gathered"),
            ("rule_error", unknown, "\(key).until", "unknown key"),
            ("campaign_error", campaign, key, "is not for campaigns"),
        ] {
            let found = problem { () throws(RuleProblem) in
                if function == "rule_error" {
                    _ = try RuleDefinition(json: parsed(json))
                } else {
                    _ = try CampaignDefinition(json: parsed(json))
                }
            }
            #expect([found?.path, found?.reason] == [place, reason])
            let sql = "SELECT place, reason FROM fanfare.\(function)($1::jsonb)"
            #expect(try connection.query(sql, json).rows[0] == [place, reason])
        }
    }

    @Test(arguments: [
        ("{{#u}}", "digest.by", "{{#u}} is not closed"),
        ("{{device.id}}", "digest.by", "depends on a device"),
    ])
    func aTemplateThatIsNoneIsFoundByADaemon(by: String, place: String, reason: String) throws {
        let world = try World()
        let rule = Self.rule(#""digest": {"every": "1m", "by": "\#(by)"}"#)
        _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
        try world.judge()
        let stored = try world.connection.text("SELECT reason FROM fanfare.rule_versions WHERE state = 'refused'")
        #expect(stored?.hasPrefix("\(place): \(reason)") == true)
    }

    @Test(arguments: [
        #""digest": {"every": "10m", "by": "{{u}}"}"#, #""debounce": {"wait": "30s", "by": "{{u}}"}"#,
        #""debounce": {"wait": "30s", "by": "{{u}}", "longest": "10m"}"#,
    ])
    func whatIsRightIsKept(members: String) throws {
        let connection = try TestDatabase.current.connect()
        let json = Self.rule(members)
        #expect(try RuleDefinition(json: parsed(json)).json == parsed(json))
        #expect(try connection.text("SELECT reason IS NULL FROM fanfare.rule_error($1::jsonb)", json) == "t")
        _ = try connection.query("SELECT fanfare.put_rule($1::jsonb)", json)
    }

    private func parsed(_ json: String) -> JSONValue { (try? JSONValue(parsing: json)) ?? .null }

    private func problem(_ body: () throws(RuleProblem) -> Void) -> RuleProblem? {
        do throws(RuleProblem) {
            try body()
            return nil
        } catch {
            return error
        }
    }
}
