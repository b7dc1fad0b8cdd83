import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService

/// The assignment of variants to users, by a hash that daemons and SQL compute alike.
@Suite(.database)
struct VariantShareTests {
    private static let count = 100_000
    private static let members = """
        "holdout": "5%", "variants": [
            {"name": "short", "weight": 20}, {"name": "never", "weight": 0}, {"name": "plain", "weight": 75}, {"name": "long", "weight": 5}]
        """

    /// Returns the groups of the given number of users, by SQL and the newest rule for events of a type.
    private func groups(_ world: World, _ type: String, _ count: Int) throws -> [String] {
        try world.connection.column(
            """
            WITH g AS MATERIALIZED (
                SELECT g.* FROM fanfare.rule_versions AS v CROSS JOIN LATERAL fanfare.rule_groups(v.definition::jsonb) AS g
                WHERE v.event_type = $1 ORDER BY v.id DESC LIMIT 1
            )
            SELECT fanfare.group_of(g.seed, g.holdout, g.names, g.upto, 'user-' || n) FROM g CROSS JOIN generate_series(1, $2::int) AS n ORDER BY n
            """,
            type,
            String(count)
        )
    }

    private func division(_ world: World, _ type: String) throws -> CompiledRule {
        let json = try world.connection.text(
            "SELECT definition FROM fanfare.rule_versions WHERE event_type = $1 ORDER BY id DESC LIMIT 1",
            type
        )
        return try CompiledRule(json: JSONValue(parsing: json ?? ""))
    }

    private func names(_ rule: CompiledRule, _ who: [String]) throws -> [String] {
        let division = try #require(rule.division)
        return who.map { who in
            switch division.group(of: who) {
            case .heldOut: RuleGroups.holdoutName
            case .variant(let place): rule.definition.groups.variants[place].name
            }
        }
    }

    @Test func sharesAreThoseOfTheWeightsAndTheSameEverywhere() throws {
        let world = try World()
        try world.put(campaign: "sale", Self.members)
        try world.schedule()
        let groups = try groups(world, "campaign.shop.sale", Self.count)
        let users = (1...Self.count).map { "user-\($0)" }
        #expect(try groups == names(division(world, "campaign.shop.sale"), users))
        let shares = [("holdout", 0.05), ("short", 0.19), ("never", 0), ("plain", 0.7125), ("long", 0.0475)]
        for (name, share) in shares {
            let part = Double(groups.count { $0 == name }) / Double(Self.count)
            #expect(abs(part - share) < 0.005, "\(name): \(part)")
        }
        // The variant is independent of membership in the canary.
        let first = try world.connection.column(
            "SELECT fanfare.bucket('7:canary', 'user-' || n) < (1::bigint << 32) / 4 FROM generate_series(1, \(Self.count)) AS n ORDER BY n"
        )
        let early = zip(groups, first).filter { $0.1 == "t" }.map(\.0)
        for (name, share) in shares {
            let part = Double(early.count { $0 == name }) / Double(early.count)
            #expect(abs(part - share) < 0.01, "\(name) among the first: \(part)")
        }
    }

    @Test func aCampaignOfTheSameNameMeansTheSamePeople() throws {
        let world = try World()
        func rule() throws -> Int64 {
            try world.connection.number(
                "SELECT id FROM fanfare.rules WHERE name = 'campaign/sale' AND dropped_at IS NULL"
            )
        }
        func put(_ name: String) throws -> [String] {
            try world.put(campaign: name, Self.members)
            try world.schedule()
            return try groups(world, "campaign.shop.\(name)", 2000)
        }
        let before = try put("sale")
        let old = try rule()
        _ = try world.connection.query("SELECT fanfare.drop_campaign('shop', 'sale')")
        #expect(try put("sale") == before)
        #expect(try rule() != old)
        #expect(try put("other") != before, "another one asks others")
        // A test shows the variant that the user will get, even to users in the holdout.
        _ = try world.connection.query("SELECT fanfare.test_campaign('shop', 'sale', '{ann}')")
        let tried = try groups(world, "campaign-test.shop.sale", 2000)
        #expect(tried.count == before.count && !tried.contains("holdout"))
        #expect(zip(tried, before).allSatisfy { $0 == $1 || $1 == "holdout" })
        let users = (1...1000).map { "user-\($0)" }
        #expect(try names(division(world, "campaign-test.shop.sale"), users) == Array(tried.prefix(1000)))
    }

    @Test(arguments: ["0.0001%", "0.5%", "33.3333%", "50%"])
    func boundsAreTheSame(holdout: String) throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#, #""holdout": "\#(holdout)""#)
        let rule = try division(world, "e")
        let people = ["ann", "José", "名", "device:7", "", "a:b"] + (1...2000).map { "u\($0)" }
        let inSQL = try world.connection.query(
            """
            SELECT fanfare.group_of(g.seed, g.holdout, g.names, g.upto, w.who) IS NOT NULL
            FROM fanfare.rule_versions AS v CROSS JOIN LATERAL fanfare.rule_groups(v.definition::jsonb) AS g
            CROSS JOIN jsonb_array_elements_text($1::jsonb) WITH ORDINALITY AS w (who, n) WHERE v.event_type = 'e' ORDER BY w.n
            """,
            JSONValue.array(people.map(JSONValue.string)).text
        ).rows.map { $0[0] == "t" }
        #expect(people.map { rule.division?.isHeldOut($0) ?? false } == inSQL)
    }

    @Test func whoIsNobodysIsAPersonOfItsOwn() throws {
        let world = try World()
        try world.rule("r", event: "e", to: #"{"everyone": true}"#, Self.members)
        let rule = try division(world, "e")
        let inSQL = try world.connection.column(
            "SELECT fanfare.variant_of(v.definition::jsonb, NULL, n) FROM fanfare.rule_versions AS v, generate_series(1, 500) AS n WHERE v.event_type = 'e' ORDER BY n"
        )
        #expect(try names(rule, (1...500).map { Division.who(user: nil, device: $0) }) == inSQL)
    }
}
