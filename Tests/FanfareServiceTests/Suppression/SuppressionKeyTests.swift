import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareCore
@testable import FanfareProviders

/// The members of a rule that declare suppressions: the same in SQL and in the daemon.
@Suite(.database)
struct SuppressionKeyTests {
    private static let faults: [(members: String, place: String, reason: String)] = [
        (#""category": "a b""#, "category", "cannot be a category"),
        (#""category": "*""#, "category", "cannot be a category"),
        (#""category": """#, "category", "cannot be a category"),
        (#""quiet_hours": "on""#, "quiet_hours", "is neither off nor an object"),
        (#""quiet_hours": false"#, "quiet_hours", "is not an object"),
        (#""quiet_hours": {"from": "22:00"}"#, "quiet_hours.until", "is missing"),
        (#""quiet_hours": {"from": "22:00", "until": "8:00"}"#, "quiet_hours.until", "is not a time of day"),
        (#""quiet_hours": {"from": "24:00", "until": "08:00"}"#, "quiet_hours.from", "is not a time of day"),
        (#""quiet_hours": {"from": "22:60", "until": "08:00"}"#, "quiet_hours.from", "is not a time of day"),
        (#""quiet_hours": {"from": 22, "until": "08:00"}"#, "quiet_hours.from", "is not a time of day"),
        (#""quiet_hours": {"from": "08:00", "until": "08:00"}"#, "quiet_hours.until", "is the same as from"),
        (
            #""quiet_hours": {"from": "22:00", "until": "08:00", "mode": "collapse"}"#, "quiet_hours.mode",
            "is neither hold nor drop"
        ),
        (#""caps": "daily""#, "caps", "is not a list of names"),
        (#""caps": ["daily", 7]"#, "caps", "is not a list of names"),
    ]

    private static func json(_ kind: String, _ members: String) -> String {
        let event = kind == "rule" ? #""event": "e", "# : ""
        return #"{"app": "shop", "name": "n", \#(event)"to": {"everyone": true}, "message": {"data": {"a": "b"}}, "#
            + "\(members)}"
    }

    @Test(arguments: faults, ["rule", "campaign"])
    func whatIsWrongIsRefusedByBoth(fault: (members: String, place: String, reason: String), kind: String) throws {
        let connection = try TestDatabase.current.connect()
        let json = Self.json(kind, fault.members)
        let inSQL = try connection.query("SELECT place, reason, hint FROM fanfare.\(kind)_error($1::jsonb)", json).rows[
            0
        ]
        let problem = try #require(try whatIsWrong(kind, json))
        #expect(inSQL == [fault.place, fault.reason, problem.hint])
        #expect([problem.path, problem.reason] == [fault.place, fault.reason])
        let refusal = #expect(throws: PostgresError.self) {
            try connection.query("SELECT fanfare.put_\(kind)($1::jsonb)", json)
        }
        #expect(refusal?.sqlState == "22023" && refusal?.hint == problem.hint)
    }

    /// Only the database knows an app's caps.
    @Test(arguments: ["rule", "campaign"])
    func aCapThatTheAppDoesNotHaveIsRefused(kind: String) throws {
        let connection = try TestDatabase.current.connect()
        let json = Self.json(kind, #""caps": ["daily", "weekly"]"#)
        func hint() throws -> String? {
            let error = #expect(throws: PostgresError.self) {
                try connection.query("SELECT fanfare.put_\(kind)($1::jsonb)", json)
            }
            #expect(
                error?.message
                    == "caps: the app has no cap called '\(error?.hint == "it has daily" ? "weekly" : "daily")'"
            )
            return error?.hint
        }
        #expect(try hint() == #"apply a policy that has it, as in {"caps": {"daily": {"max": 3, "per": "1d"}}}"#)
        let policies = [
            #"{"caps": {"daily": {"max": 3, "per": "1d"}}}"#,
            #"{"caps": {"daily": {"max": 3, "per": "1d"}, "weekly": {"max": 3, "per": "7d"}}}"#,
        ]
        _ = try connection.query("SELECT fanfare.put_policy('shop', $1::jsonb)", policies[0])
        #expect(try hint() == "it has daily")
        _ = try connection.query("SELECT fanfare.put_policy('shop', $1::jsonb)", policies[1])
        _ = try connection.query("SELECT fanfare.put_\(kind)($1::jsonb)", json)
    }

    @Test(
        arguments: [
            #""category": "marketing""#, #""quiet_hours": "off""#,
            #""quiet_hours": {"from": "00:00", "until": "23:59"}"#,
            #""category": "a", "quiet_hours": {"from": "22:00", "until": "08:00", "mode": "drop"}"#,
        ],
        ["rule", "campaign"]
    )
    func whatIsRightIsKept(members: String, kind: String) throws {
        let connection = try TestDatabase.current.connect()
        let json = try JSONValue(parsing: Self.json(kind, members))
        let written = kind == "rule" ? try RuleDefinition(json: json).json : try CampaignDefinition(json: json).json
        #expect(written == json)
        #expect(try connection.text("SELECT reason IS NULL FROM fanfare.\(kind)_error($1::jsonb)", json.text) == "t")
    }

    @Test(arguments: [#""category": "marketing""#, #""quiet_hours": "off""#])
    func audiencesThatAProviderKeepsHaveNone(members: String) throws {
        let connection = try TestDatabase.current.connect()
        for (to, provider) in [("fcm_topic", "fcm"), ("channel", "apns")] {
            let json = Self.json("rule", members).replacing(#""everyone": true"#, with: #""\#(to)": "x""#)
            let problem = try #require(try whatIsWrong("rule", json))
            let inSQL = try connection.query("SELECT place, reason, hint FROM fanfare.rule_error($1::jsonb)", json)
                .rows[0]
            #expect(problem.reason == "differs by user, but \(provider) gets one request for all")
            #expect(inSQL == [problem.path, problem.reason, problem.hint])
        }
    }

    private func whatIsWrong(_ kind: String, _ json: String) throws -> RuleProblem? {
        let json = try JSONValue(parsing: json)
        do throws(RuleProblem) {
            if kind == "rule" { _ = try RuleDefinition(json: json) } else { _ = try CampaignDefinition(json: json) }
            return nil
        } catch {
            return error
        }
    }
}
