import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// The suppressions that explain predicts are those that happen: for the same users, at the same time.
@Suite(.database) struct SuppressionTests {
    private static let people = 240
    private static let users = #"{"users": "$.u"}"#
    /// Makes deliveries that were planned for the end of quiet hours due at the time that explain was given.
    private static let wakeAll = "UPDATE fanfare.batches SET not_before = now() WHERE attempt = 1"

    /// Creates users in three zones.
    ///
    /// In Tokyo it is night. Some have opted out, some have snoozed, some have reached their cap.
    private func world(mode: String) throws -> World {
        let world = try World()
        let hours = try world.connection.query(
            """
            SELECT to_char(n - interval '2 h', 'HH24:MI'), to_char(n + interval '2 h', 'HH24:MI')
            FROM (SELECT now() AT TIME ZONE 'Asia/Tokyo' AS n) AS t
            """
        ).rows[0].compactMap(\.self)
        try world.put(
            policy: """
                {"quiet_hours": {"from": "\(hours[0])", "until": "\(hours[1])", "mode": "\(mode)"}, "caps": {"daily": {"max": 1, "per": "1d"}}}
                """
        )
        try world.connection.execute(
            """
            SELECT fanfare.register_device('shop', 'apns', 'aa' || lpad(to_hex(n), 6, '0'), CASE WHEN n % 12 > 0 THEN 'u' || n / 2 END,
                time_zone => (ARRAY['Asia/Tokyo', 'Europe/Madrid', 'America/New_York', NULL])[1 + n % 4])
            FROM generate_series(1, \(Self.people)) AS n;
            SELECT fanfare.unregister_device('shop', 'apns', 'aa00000f');
            SELECT fanfare.set_preference('shop', 'u' || n, 'news', n % 2 = 0) FROM generate_series(1, \(Self.people / 2), 7) AS n;
            SELECT fanfare.snooze('shop', 'u' || n, now() + interval '1 h', '*') FROM generate_series(2, \(Self.people / 2), 9) AS n;
            SELECT fanfare.snooze('shop', 'u' || n, now() + interval '30 h') FROM generate_series(4, \(Self.people / 2), 23) AS n;
            """
        )
        // Every third user had an event today that counts for the cap.
        try world.rule("before", event: "before", to: Self.users, #""caps": ["daily"], "quiet_hours": "off""#)
        try world.emit("before", named((0...Self.people / 2).filter { $0 % 3 == 0 }))
        try world.plan()
        let claimed = try world.claim()
        try end(try world.prepare(claimed), in: world)
        return world
    }

    private func named(_ users: [Int]) -> String {
        #"{"u": [\#(users.map { "\"u\($0)\"" }.joined(separator: ", "))]}"#
    }

    /// Records every sent delivery as accepted.
    private func end(_ prepared: [BatchPreparer.Prepared], in world: World) throws {
        world.record(
            prepared.flatMap { one -> [RecorderMessage] in
                let results = one.batch.deliveries.map { DeliveryResult(acceptedAt: $0.position) }
                return [
                    .opened(one.batch, decided: one.decided),
                    .results(one.batch.claimed.claim, results, slots: 0),
                ]
            }
        )
    }

    /// Returns the number of an event's deliveries by reason, in the words of explain.
    private func outcomes(_ world: World, _ type: String) throws -> [String: Int64] {
        let rows = try world.connection.query(
            """
            SELECT d.outcome, d.reason, count(*) FROM fanfare.deliveries AS d JOIN fanfare.event_log AS e ON e.id = d.event_id
            WHERE e.type = $1 AND NOT (d.at IS NULL AND d.attempt > 1) GROUP BY 1, 2
            """,
            type
        ).rows
        return Dictionary(
            rows.map { row in
                let key =
                    switch (row[0], row[1]) {
                    case ("opted_out", "user_snoozed"): "snoozed"
                    case ("retrying", "quiet_hours"): "later/quiet"
                    case ("retrying", "user_snoozed"): "later/snoozed"
                    case (let outcome, _): outcome ?? ""
                    }
                return (key, row[2].flatMap { Int64($0) } ?? 0)
            },
            uniquingKeysWith: +
        )
    }

    /// Returns the same numbers as predicted by explain.
    private func told(_ audience: JSONValue?) throws -> [String: Int64] {
        let audience = try #require(audience)
        let all = try #require(audience["devices"]?.numberValue?.integer)
        var told: [String: Int64] = [:]
        for (key, prefix) in [("suppressed", ""), ("later", "later/")] {
            for member in audience[key]?.objectValue?.members ?? [] {
                told[prefix + member.key] = member.value.numberValue?.integer
            }
        }
        told = told.filter { $0.value > 0 }
        told["accepted"] = all - told.values.reduce(0, +)
        return told
    }

    @Test(arguments: ["hold", "drop"], ["24h", "90m"])
    func aRulesAreThoseOfASend(mode: String, ttl: String) async throws {
        let world = try world(mode: mode)
        let more = #""category": "news", "caps": ["daily"], "holdout": "20%", "ttl": "\#(ttl)""#
        try world.rule("named", event: "named", to: Self.users, more)
        try world.rule("all", event: "all", to: #"{"everyone": true}"#, more + #", "lane": "bulk""#)
        let everybody = named(Array(0...Self.people / 2))
        let judgements = try await toolDatabase().whileOpen { database throws(any Error) in
            let rules = try await database.ruleSet(app: "shop")
            return try await database.judge(rules, ExampleEvent(payload: everybody), toolConfiguration())
        }
        for type in ["named", "all"] {
            let judgement = try #require(judgements.first { $0.rule == type })
            let told = try told(judgement.json["audience"])
            try world.emit(type, everybody)
            try world.plan()
            try world.connection.execute(Self.wakeAll)
            try end(try world.prepare(try world.claim()), in: world)
            #expect(try outcomes(world, type) == told, "\(type)")
            #expect(told["held_out"] != nil && told["opted_out"] != nil && told["capped"] != nil)
            let isKept = mode == "hold" && ttl == "24h"
            #expect((told["later/quiet"] != nil) == isKept && (told["later/snoozed"] != nil) == (mode == "hold"))
            #expect((told["expired"] != nil) == (mode == "hold") && (told["quiet"] != nil) == (mode == "drop"))
            #expect(judgement.text.contains("of these "))
            // The first event's grants count for the second.
            try world.connection.execute(
                "DELETE FROM fanfare.cap_grants AS g USING fanfare.event_log AS e WHERE e.type = 'named' AND g.grants[1] = e.id"
            )
        }
    }

    @Test(arguments: ["hold", "drop"])
    func aCampaignsAreThoseOfASend(mode: String) async throws {
        let world = try world(mode: mode)
        try world.put(
            campaign: "sale",
            #""category": "news", "caps": ["daily"], "holdout": "10%", "variants": [{"name": "a"}, {"name": "b"}]"#
        )
        try world.schedule()
        let explanation = try await toolDatabase().whileOpen { database throws(any Error) in
            try await database.explainCampaign(app: "shop", name: "sale", in: nil, payload: "{}", toolConfiguration())
        }
        let told = try told(explanation.json["audience"])
        #expect(explanation.messages.map(\.variant) == ["a", "b"])
        try world.start("sale")
        try world.schedule()
        try world.plan()
        try world.connection.execute(Self.wakeAll + "; UPDATE fanfare.batches SET gate_id = 0")
        try end(try world.prepare(try world.claim()), in: world)
        #expect(try outcomes(world, "campaign.shop.sale") == told)
        #expect(told["held_out"] != nil && told["capped"] != nil && told["opted_out"] != nil)
        #expect((told["later/quiet"] != nil) == (mode == "hold"))
        #expect(explanation.text.contains("held out \(told["held_out"] ?? 0), "))
    }
}
