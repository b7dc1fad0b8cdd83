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
        (#""quiet_hours": false"#, "quiet_hours", "is neither off nor an object"),
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

    @Test(arguments: faults, ["rule", "campaign"])
    func whatIsWrongIsRefusedByBoth(fault: (members: String, place: String, reason: String), kind: String) throws {
        try DefinitionUnderTest(kind, fault.members).isRefused(at: fault.place, fault.reason)
    }

    /// Only the database knows an app's caps.
    @Test(arguments: ["rule", "campaign"])
    func aCapThatTheAppDoesNotHaveIsRefused(kind: String) throws {
        let connection = try TestDatabase.current.connect()
        let json = DefinitionUnderTest(kind, #""caps": ["daily", "weekly"]"#).json
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
        try DefinitionUnderTest(kind, members).isKept()
    }

    @Test(arguments: [#""category": "marketing""#, #""quiet_hours": "off""#])
    func audiencesThatAProviderKeepsHaveNone(members: String) throws {
        let connection = try TestDatabase.current.connect()
        for (to, provider) in [("fcm_topic", "fcm"), ("channel", "apns")] {
            let json = DefinitionUnderTest("rule", members).json.replacing(
                #""everyone": true"#,
                with: #""\#(to)": "x""#
            )
            let problem = try #require(try DefinitionUnderTest.problem("rule", json))
            let inSQL = try connection.query("SELECT place, reason, hint FROM fanfare.rule_error($1::jsonb)", json)
                .rows[0]
            #expect(problem.reason == "differs by user, but \(provider) gets one request for all")
            #expect(inSQL == [problem.path, problem.reason, problem.hint])
        }
    }
}
