import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

@Suite(.database) struct RuleToolTests {
    private static let shipped = """
        - name: shipped
          app: shop
          event: order.shipped
          when: $.total > 10
          to: { users: $.customer }
          message: { notification: { title: "Order {{id}}", body: "On its way" } }
          ttl: 4h
        """

    private func set(_ yaml: String, _ file: String = "rules.yaml") throws -> RuleSet {
        try RuleSet(RulesFile(yaml: yaml, named: file).rules)
    }

    @Test func rulesAreAddedOnceAndMarkedAsFromAFile() async throws {
        let database = try toolDatabase()
        let set = try set(Self.shipped)
        #expect(try await database.plan(set, prune: false).items.map(\.change) == [.added])
        #expect(try await database.stored(RuleSet.self, app: nil).isEmpty)
        let applied = try await database.apply(set, prune: false)
        #expect(applied.stored.map(\.state) == ["unchecked"])
        #expect(applied.text.contains("no daemon runs"))
        let stored = try await database.stored(RuleSet.self, app: "shop")
        #expect(stored.map(\.name) == ["shipped"])
        #expect(stored.map(\.isFromFile) == [true])
        #expect(stored.map(\.event) == ["order.shipped"])
        #expect(try await database.apply(set, prune: false).plan.isEmpty)
        #expect(try await database.stored(RuleSet.self, app: "shop").map(\.version) == [1])
    }

    @Test func aChangeIsShownByItsPath() async throws {
        let database = try toolDatabase()
        _ = try await database.apply(set(Self.shipped), prune: false)
        let changed = Self.shipped.replacing("ttl: 4h", with: "lane: bulk").replacing("On its", with: "Out its")
        let plan = try await database.plan(set(changed), prune: false)
        #expect(plan.items.map(\.change) == [.changed])
        #expect(
            plan.items.flatMap(\.differences).map(\.text).sorted() == [
                "lane: (none) → \"bulk\"", "message.notification.body: \"On its way\" → \"Out its way\"",
                "ttl: \"4h\" → (none)",
            ]
        )
        #expect(plan.json["rules"]?.arrayValue?.first?["change"] == "changed")
        _ = try await database.apply(set(changed), prune: false)
        #expect(try await database.stored(RuleSet.self, app: nil).map(\.version) == [2])
    }

    @Test func pruningDropsOnlyWhatCameFromFilesOfTheSameApps() async throws {
        let database = try toolDatabase()
        let other = Self.shipped.replacing("name: shipped", with: "name: second")
        let foreign = Self.shipped.replacing("app: shop", with: "app: other")
        _ = try await database.apply(set([Self.shipped, other, foreign].joined(separator: "\n")), prune: false)
        try sql(
            """
            SELECT fanfare.put_rule('{"app": "shop", "name": "by-sql", "event": "e", "to": {"everyone": true},
                "message": {"notification": {"title": "t"}}}')
            """
        )
        let kept = try await database.apply(set(Self.shipped), prune: false)
        #expect(kept.plan.items.map(\.change) == [.kept, .unchanged])
        #expect(kept.plan.isEmpty)
        #expect(try await database.stored(RuleSet.self, app: nil).count == 4)
        _ = try await database.apply(set(Self.shipped), prune: true)
        #expect(
            try await database.stored(RuleSet.self, app: nil).map { "\($0.app)/\($0.name)" } == [
                "other/shipped", "shop/by-sql", "shop/shipped",
            ]
        )
    }

    @Test func oneBadRuleStopsAllAndIsFoundByItsLine() async throws {
        let bad = Self.shipped.replacing("name: shipped", with: "name: bad").replacing("$.total > 10", with: "$.total")
        let error = try await #require(
            throws: ToolError.self,
            performing: {
                try await toolDatabase().apply(set(Self.shipped + "\n" + bad), prune: false)
            }
        )
        #expect(error.kind == .failed)
        #expect(error.reason.hasPrefix("rules.yaml:11: when: is not a predicate"))
        #expect(try await toolDatabase().stored(RuleSet.self, app: nil).isEmpty)
    }

    @Test func allProblemsOfAllRulesAreTold() throws {
        let typo = Self.shipped.replacing("ttl: 4h", with: "tll: 4h")
        let name = Self.shipped.replacing("name: shipped", with: "name: has blanks in it")
        let error = try #require(throws: ToolError.self) { try set(typo + "\n" + name) }
        let lines = error.reason.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("rules.yaml:7: tll: "))
        #expect(lines[1].hasPrefix("rules.yaml:8: name: cannot be a name; use 1 to 100 letters"))
    }

    @Test func whatPostgreSQLRefusesIsFoundByItsLine() async throws {
        try sql("CREATE TABLE public.unread (id text, n int)")
        let rules = [
            Self.shipped.replacing("users: $.customer", with: "users: customer"),
            Self.shipped.replacing("name: shipped", with: "name: badge")
                + "\n  badge_sql: DELETE FROM public.unread WHERE id = ANY ($1)",
        ]
        let error = try await #require(throws: ToolError.self) {
            try await toolDatabase().plan(set(rules.joined(separator: "\n")), prune: false)
        }
        let lines = error.reason.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("rules.yaml:5: to.users: is not a jsonpath"))
        #expect(lines[0].hasSuffix(#"begin with "$", as in $.customer_id"#))
        #expect(lines[1].hasPrefix("rules.yaml:15: badge_sql: writes"))
    }

    @Test func whatCannotBeStoredIsFoundByItsLine() throws {
        let number = Self.shipped.replacing(
            "\"On its way\" }",
            with: "x }, apns: { payload: { n: 1e999999 } }"
        )
        let text = Self.shipped.replacing("name: shipped", with: "name: nul").replacing("On its way", with: "a\\0b")
        let error = try #require(throws: ToolError.self) { try set(number + "\n" + text) }
        let lines = error.reason.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines[0].hasPrefix("rules.yaml:6: message.apns.payload.n: is a number out of range"))
        #expect(lines[1].hasPrefix("rules.yaml:13: message.notification.body: has the character U+0000"))
    }

    @Test func anAppThatIsNotConfiguredIsWarnedAbout() throws {
        let rules = try set(Self.shipped + "\n" + Self.shipped.replacing("app: shop", with: "app: shpo"))
        let plan = FilesPlan(rules, stored: [], prunes: false, configuredApps: ["shop"])
        let warning =
            "the configuration has no app “shpo”: what shipped would send waits for a daemon that has; did you mean “shop”?"
        #expect(plan.warnings == [warning])
        #expect(plan.text.contains("warning: \(warning)"))
        #expect(plan.json["warnings"]?.arrayValue?.count == 1)
        #expect(FilesPlan(rules, stored: [], prunes: false).warnings.isEmpty, "nothing is known of a configuration")
    }

    /// Once for each rule, although two variants are long; also for a campaign.
    @Test func aLongBodyForBrowsersIsWarnedAbout() throws {
        func message(_ count: Int) -> String {
            "to: {everyone: true}, message: {data: {a: \(String(repeating: "x", count: count))}}"
        }
        // {"data":{"a":"…"}} is 17 bytes without its text.
        let advice = "message has at least 2745 bytes for webpush, but Firefox on Android gets about 2744; shorten it"
        let variants = "variants: [{name: a, weight: 1}, {name: b, weight: 1, message: {data: {b: x}}}]"
        let rule = "- {name: long, app: shop, event: e, \(message(2728)), \(variants)}"
        let plan = FilesPlan(try set(rule), stored: [], prunes: false)
        #expect(plan.warnings == ["shop/long: \(advice) if these users matter"])
        #expect(FilesPlan(try set(rule.replacing("xx", with: "x")), stored: [], prunes: false).warnings.isEmpty)
        let campaign = try RulesFile(yaml: "- {name: c, app: shop, \(message(2728))}", named: "c.yaml", of: .campaign)
        let campaigns = try DefinitionSet<CampaignDefinition>(campaign.rules)
        let warnings = FilesPlan(campaigns, stored: [], prunes: false).warnings
        #expect(warnings == ["shop/c: \(advice) if these users matter"])
    }

    @Test func aRuleInTwoFilesIsFound() throws {
        let first = try RulesFile(yaml: Self.shipped, named: "a.yaml").rules
        let second = try RulesFile(yaml: Self.shipped, named: "b.yaml").rules
        let error = #expect(throws: ToolError.self) { try RuleSet(first + second) }
        #expect(error?.reason == "b.yaml:1: name: is in a.yaml:1 already")
    }

    @Test func whatCampaignsBecomeIsNoOnesRule() async throws {
        let world = try World()
        try world.put(campaign: "hello")
        try world.schedule()
        let database = try toolDatabase()
        #expect(try await database.stored(RuleSet.self, app: nil).isEmpty)
        #expect(try await database.plan(set(Self.shipped), prune: true).items.map(\.name) == ["shipped"])
        #expect(try await database.ruleSet(app: "shop").apps == ["shop"], "it can be explained")
        let error = #expect(throws: ToolError.self) {
            try set(Self.shipped.replacing("name: shipped", with: "name: campaign/hello"))
        }
        #expect(error?.reason == "rules.yaml:1: name: cannot be a name; \(RuleNames.ruleHint)")
    }

    @Test func anAuthorNeedsNoOtherRole() async throws {
        try await withRole(in: "fanfare_author") { role throws in
            let database = try toolDatabase(user: role)
            #expect(try await database.apply(set(Self.shipped), prune: true).stored.count == 1)
        }
    }

    @Test func valuesAreComparedAsJSON() throws {
        let old = try JSONValue(parsing: #"{"a": 1.0, "b": [1, {"c": 2}], "d": null, "e": [1]}"#)
        let new = try JSONValue(parsing: #"{"b": [1, {"c": 3}], "a": 1, "e": [1, 2], "f": {}}"#)
        #expect(JSONDifference.between(old, new).map(\.path) == ["b[1].c", "e", "f", "d"])
        #expect(JSONDifference.between(old, old).isEmpty)
    }
}
