import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareTools
@testable import fanfare

/// Policies from files.
@Suite(.database) struct PolicyToolTests {
    private static let shop = """
        app: shop
        policy:
          time_zone: Europe/Madrid
          quiet_hours: { from: "22:00", until: "08:00" }
          caps: { daily: { max: 3, per: 1d } }
          rate: 2000/s
          providers: { fcm: { rate: 500/s }, apns: { rate: 900/s } }
        """
    private static let other = "app: other\npolicy: { rate: 5/s }"

    private func set(_ yaml: String, _ file: String = "policies.yaml") throws -> PolicySet {
        try PolicySet(RulesFile(yaml: yaml, named: file, of: .policy).rules)
    }

    @Test func theyAreAddedChangedAndRemoved() async throws {
        let database = try toolDatabase()
        let both = try set(Self.shop + "\n---\n" + Self.other)
        let plan = try await database.plan(both)
        #expect(plan.text == "+ other\n+ shop\n2 added, 0 changed, 0 unchanged, 0 dropped")
        #expect(try await database.stored(PolicySet.self, app: nil).isEmpty)
        _ = try await database.apply(both)
        #expect(try await database.apply(both).plan.isEmpty)
        let list = try await database.stored(PolicySet.self, app: nil)
        #expect(
            PolicyRow.table(list) == """
                APP    TIME ZONE      QUIET HOURS       CAPS        RATE    PROVIDERS
                other  -              -                 -           5/s     -
                shop   Europe/Madrid  22:00–08:00 hold  daily 3/1d  2000/s  fcm 500/s, apns 900/s
                """
        )
        #expect(
            try await database.stored(PolicySet.self, app: "other").map(\.json) == [
                ["app": "other", "policy": ["rate": "5/s"]]
            ]
        )
        let changed = try set(Self.shop.replacing("500/s", with: "600/s") + "\n---\napp: other\npolicy: {}")
        let changes = try await database.apply(changed)
        #expect(
            changes.text == """
                - other
                    rate: "5/s" → (none)
                ~ shop
                    providers.fcm.rate: "500/s" → "600/s"
                0 added, 1 changed, 0 unchanged, 1 dropped
                """
        )
        #expect(try await database.stored(PolicySet.self, app: nil).map(\.app) == ["shop"])
        #expect(try await database.plan(set("app: other\npolicy: {}")).isEmpty)
    }

    @Test func allProblemsAreFoundByTheirLines() async throws {
        let missing = try #require(throws: ToolError.self) {
            try set("policy: {}\n---\napp: shop\n---\napp: shop\npolicy: {}\n---\napp: shop\npolicy: {}\ncolour: red")
        }
        let lines = missing.reason.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines[0].hasPrefix("policies.yaml:1: app: is missing; use 1 to 64 letters"))
        #expect(lines[1].hasPrefix("policies.yaml:3: policy: is missing; write {"))
        #expect(lines[2].hasPrefix("policies.yaml:10: colour: unknown key"))
        let twice = #expect(throws: ToolError.self) { try set(Self.other + "\n---\n" + Self.other) }
        #expect(twice?.reason == "policies.yaml:4: app: is in policies.yaml:1 already")
        let faults = Self.shop.replacing("500/s", with: "500/d")
        let error = try await #require(throws: ToolError.self) {
            try await toolDatabase().apply(set(faults + "\n---\napp: other\npolicy: [5]"))
        }
        #expect(
            error.reason == """
                policies.yaml:7: policy.providers.fcm.rate: '500/d' is not a rate; write how many pushes a second, as in 500/s
                policies.yaml:10: policy: is not an object; write {"rate": "1000/s"}, or {} for none
                """
        )
        #expect(try await toolDatabase().stored(PolicySet.self, app: nil).isEmpty)
    }

    @Test func theyAreTypedAsRulesAre() async throws {
        let environment = ["DATABASE_URL": TestDatabase.current.url]
        let applied = try await fanfare(["policies", "apply", "-"], environment: environment, input: Self.other)
        #expect(applied.status == 0 && applied.output.first == "+ other")
        let list = try await fanfare(["policies", "list", "--json"], environment: environment)
        #expect(list.output == [#"[{"app":"other","policy":{"rate":"5/s"}}]"#])
        let wrong = try await fanfare(
            ["policies", "plan", "-"],
            environment: environment,
            input: "app: other\npolicy: { rate: 0/s }"
        )
        #expect(wrong.status == 1 && wrong.errors.first?.contains("standard input:2: policy.rate: 0/s is 0/s") == true)
    }
}
