import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The decisions about deliveries of rules with variants, just before they are sent.
@Suite(.database)
struct VariantTests {
    private static let everyone = #"{"everyone": true}"#
    private static let variants = """
        "message": {"notification": {"title": "T"}}, "locales": {"es": {"notification": {"body": "Hola"}}}, "variants": [
            {"name": "short", "message": {"notification": {"title": "S"}}, "locales": {"es": {"notification": {"body": "Ola"}}}},
            {"name": "plain"}]
        """

    /// Returns the group of the device's user, by token.
    private func groups(_ world: World, rule: String) throws -> [String: String] {
        let rows = try world.connection.query(
            """
            SELECT d.token, fanfare.variant_of(v.definition::jsonb, d.user_id, d.id)
            FROM fanfare.devices AS d CROSS JOIN fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id
            WHERE r.name = $1
            """,
            rule
        ).rows
        return Dictionary(uniqueKeysWithValues: rows.map { ($0[0] ?? "", $0[1] ?? "") })
    }

    @Test func allDevicesOfAUserGetTheSameVariantInTheirLanguage() throws {
        let world = try World()
        for user in 0..<30 {
            for (device, locale) in [(0, "NULL"), (1, "'es-MX'"), (2, "'fr'")] {
                let name = user < 25 ? "u\(user)" : nil
                try world.device("aa\(100 + user)0\(device)0", user: name, "locale => \(locale)")
            }
        }
        try world.rule("r", event: "e", to: Self.everyone, Self.variants + #", "holdout": "20%""#)
        try world.emit("e")
        try world.plan()
        let groups = try groups(world, rule: "r")
        let prepared = try world.prepare(try world.claim())
        var seen: [String: String] = [:]
        for one in prepared {
            for delivery in one.batch.deliveries {
                let push = one.batch.variants[Int(delivery.variant)].push
                seen[delivery.token] = String(decoding: push.body, as: UTF8.self)
            }
        }
        for (token, group) in groups {
            let title = group == "short" ? "S" : "T"
            let isSpanish = token.dropLast().last == "1"
            let body = isSpanish ? (group == "short" ? "Ola" : "Hola") : nil
            let json = try seen[token].map { try JSONValue(parsing: $0) }
            #expect((json == nil) == (group == "holdout"), "\(token)")
            guard let alert = json?["aps"]?["alert"] else { continue }
            #expect(alert["title"]?.stringValue == title && alert["body"]?.stringValue == body, "\(token)")
        }
        #expect(Set(groups.values) == ["short", "plain", "holdout"])
        let decided = prepared.flatMap(\.decided)
        #expect(decided.count == groups.values.count { $0 == "holdout" })
        #expect(decided.allSatisfy { $0.outcome == .heldOut && $0.followUp == nil })
        #expect(prepared.allSatisfy { $0.batch.variants.count <= 4 }, "rendered once for each variant and locale")
    }

    @Test func whoIsHeldOutIsNotAskedAboutAnythingElse() throws {
        let world = try World()
        try world.put(policy: #"{"caps": {"daily": {"max": 3, "per": "1d"}}}"#)
        for user in 0..<20 { try world.device("aa\(100 + user)0", user: "u\(user)") }
        try world.rule(
            "r",
            event: "e",
            to: Self.everyone,
            #""holdout": "50%", "category": "c", "caps": ["daily"]"#
        )
        try world.connection.execute(
            "SELECT fanfare.set_preference('shop', user_id, 'c', true) FROM fanfare.devices WHERE user_id IN ('u1', 'u2', 'u3', 'u4')"
        )
        try world.emit("e")
        try world.plan()
        let held = try groups(world, rule: "r").values.count { $0 == "holdout" }
        let prepared = try world.prepare(try world.claim())
        let outcomes = prepared.flatMap(\.decided).map(\.outcome)
        #expect(held > 2 && outcomes.count { $0 == .heldOut } == held)
        #expect(
            try world.connection.number("SELECT count(*) FROM fanfare.cap_grants")
                == Int64(prepared.flatMap(\.batch.deliveries).count)
        )
        // A deleted device is reported as gone, in any group.
        try world.connection.execute(
            """
            UPDATE fanfare.batches SET owner = NULL, lease_token = NULL;
            SELECT fanfare.unregister_device('shop', 'apns', token) FROM fanfare.devices;
            """
        )
        let gone = try world.prepare(try world.claim()).flatMap(\.decided).map(\.outcome)
        #expect(gone == Array(repeating: .disabled, count: 20))
    }

    /// Events planned in one round share a batch.
    @Test func whatIsToldOfAnEventAddsUpToItsRecipients() throws {
        let world = try World()
        for user in 0..<40 { try world.device("aa\(100 + user)0", user: "u\(user)") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, Self.variants + #", "holdout": "25%""#)
        try world.rule("all", event: "e", to: #"{"users": "$.u"}"#)
        let people = "[" + (0..<40).map { "\"u\($0)\"" }.joined(separator: ", ") + "]"
        let events = try (0..<3).map { _ in try world.emit("e", #"{"u": \#(people)}"#) }
        try world.plan()
        let told = """
            SELECT rule || ' ' || coalesce(variant, '-') || ' ' || outcome || ' ' || count FROM fanfare.variants($1)
            """
        let groups = try Dictionary(grouping: groups(world, rule: "r").values, by: \.self).mapValues(\.count)
        func expected(_ outcome: (String) -> String) -> [String] {
            (["all - \(outcome("all")) 40"] + groups.map { "r \($0.key) \(outcome($0.key)) \($0.value)" }).sorted()
        }
        #expect(try world.connection.column(told, String(events[1])).sorted() == expected { _ in "pending" })
        let prepared = try world.prepare(try world.claim())
        world.record(
            prepared.flatMap { one -> [RecorderMessage] in
                let results = one.batch.deliveries.map { DeliveryResult(acceptedAt: $0.position) }
                return [
                    .opened(one.batch, decided: one.decided),
                    .results(one.batch.claimed.claim, results, slots: 0),
                ]
            }
        )
        for event in events {
            let lines = try world.connection.column(told, String(event)).sorted()
            #expect(lines == expected { $0 == "holdout" ? "held_out" : "accepted" })
        }
        _ = try world.connection.query("SELECT fanfare.forget_user('shop', 'u7')")
        #expect(
            try world.connection.number("SELECT sum(count) FROM fanfare.variants($1)", String(events[0])) == 80,
            "who was forgotten is counted"
        )
        #expect(try world.connection.query("SELECT * FROM fanfare.variants(1)").rows.isEmpty)
    }
}
