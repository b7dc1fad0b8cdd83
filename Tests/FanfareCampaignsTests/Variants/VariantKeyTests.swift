import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareProviders

/// The members that declare variants and holdouts: the same in SQL and in the daemon.
@Suite(.database)
struct VariantKeyTests {
    private static let faults: [(members: String, place: String, reason: String)] = [
        (#""variants": {}"#, "variants", "is not a list"),
        (#""variants": []"#, "variants", "is empty"),
        (#""variants": [7]"#, "variants[0]", "is not an object"),
        (#""variants": [{}]"#, "variants[0].name", "is missing"),
        (#""variants": [{"name": "a b"}]"#, "variants[0].name", "cannot be a name"),
        (#""variants": [{"name": "holdout"}]"#, "variants[0].name", "cannot be a name"),
        (#""variants": [{"name": "a"}, {"name": "a"}]"#, "variants[1].name", "is the name of another variant, too"),
        (#""variants": [{"name": "a", "weight": 0}]"#, "variants", "have weights that sum to 0"),
        (
            #""variants": [{"name": "a", "weight": -1}]"#, "variants[0].weight",
            "is not a whole number from 0 to 1000000"
        ),
        (
            #""variants": [{"name": "a", "weight": 0.5}]"#, "variants[0].weight",
            "is not a whole number from 0 to 1000000"
        ),
        (
            #""variants": [{"name": "a", "weight": 1000001}]"#, "variants[0].weight",
            "is not a whole number from 0 to 1000000"
        ),
        (#""variants": [{"name": "a", "message": "b"}]"#, "variants[0].message", "is not an object"),
        (#""variants": [{"name": "a", "locales": []}]"#, "variants[0].locales", "is not an object"),
        (
            #""variants": [\#((0...16).map { #"{"name": "v\#($0)"}"# }.joined(separator: ", "))]"#, "variants", "has 17"
        ),
        (#""holdout": 0.05"#, "holdout", "is not a share from 0% to 50%"),
        (#""holdout": "5""#, "holdout", "is not a share from 0% to 50%"),
        (#""holdout": "50.0001%""#, "holdout", "is not a share from 0% to 50%"),
    ]

    @Test(arguments: faults, ["rule", "campaign"])
    func whatIsWrongIsRefusedByBoth(fault: (members: String, place: String, reason: String), kind: String) throws {
        try DefinitionUnderTest(kind, fault.members).isRefused(at: fault.place, fault.reason)
    }

    @Test(arguments: ["rule", "campaign"])
    func whatNobodyKnowsIsRefused(kind: String) throws {
        let connection = try TestDatabase.current.connect()
        let json = DefinitionUnderTest(kind, #""variants": [{"name": "a", "wait": 3}]"#).json
        let inSQL = try connection.query("SELECT place, reason FROM fanfare.\(kind)_error($1::jsonb)", json).rows[0]
        let problem = try #require(try DefinitionUnderTest.problem(kind, json))
        #expect(inSQL == ["variants[0].wait", "unknown key"])
        #expect([problem.path, problem.reason] == ["variants[0].wait", "unknown key"])
    }

    @Test(
        arguments: [
            #""holdout": "5%""#, #""holdout": "0.25%""#,
            #""variants": [{"name": "a", "weight": 20, "message": {"data": {"a": "c"}}}, {"name": "b", "weight": 0}]"#,
            #""variants": [{"name": "a"}], "holdout": "50%""#,
        ],
        ["rule", "campaign"]
    )
    func whatIsRightIsKept(members: String, kind: String) throws {
        try DefinitionUnderTest(kind, members).isKept()
    }

    @Test(arguments: [#""variants": [{"name": "a"}]"#, #""holdout": "5%""#])
    func audiencesThatAProviderKeepsHaveNone(members: String) throws {
        let connection = try TestDatabase.current.connect()
        for (to, provider) in [("fcm_topic", "fcm"), ("channel", "apns")] {
            let json = DefinitionUnderTest("rule", members).json.replacing(
                #""everyone": true"#,
                with: #""\#(to)": "x""#
            )
            let problem = try #require(try DefinitionUnderTest.problem("rule", json))
            let inSQL = try connection.query("SELECT place, reason, hint FROM fanfare.rule_error($1::jsonb)", json)
            #expect(problem.reason == "differs by user, but \(provider) gets one request for all")
            #expect(inSQL.rows[0] == [problem.path, problem.reason, problem.hint])
        }
    }

    /// Each variant is checked as a message of its own, and errors have its line.
    @Test(arguments: [
        ("body: \"{{> partial}}\"", "variants[1].message.notification.body", 10),
        ("tilte: x", "variants[1].message.notification.tilte", 10),
    ])
    func eachVariantIsAMessage(line: String, path: String, number: Int) throws {
        let yaml = """
            - name: n
              app: shop
              event: e
              to: { everyone: true }
              message: { notification: { title: T } }
              variants:
                - name: a
                - name: b
                  message: { notification: {
                    \(line) } }
            """
        let source = try #require(try RulesFile(yaml: yaml, named: "rules.yaml").rules.first)
        let problem = #expect(throws: RuleProblem.self) { try CompiledRule(json: source.json) }
        let text = try source.message(for: #require(problem))
        #expect(text.hasPrefix("rules.yaml:\(number): \(path): "))
    }

    @Test func aVariantsLocalesAreTheRules() throws {
        let json = DefinitionUnderTest("rule", #""variants": [{"name": "a", "locales": {"es": {"data": {"a": "c"}}}}]"#)
            .json
        let problem = #expect(throws: RuleProblem.self) { try CompiledRule(json: JSONValue(parsing: json)) }
        #expect(problem?.path == "variants[0].locales.es")
        #expect(problem?.reason == "is none of the rule's locales")
        _ = try CompiledRule(json: JSONValue(parsing: json.dropLast() + #", "locales": {"es": {}}}"#))
    }
}
