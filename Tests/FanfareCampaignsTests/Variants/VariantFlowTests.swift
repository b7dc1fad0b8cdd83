import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Variants and holdouts through a daemon, to the simulated providers.
@Suite(.database, .flowSandbox, .timeLimit(.minutes(2)))
struct VariantFlowTests {
    private static let members = """
        "holdout": "30%", "message": {"notification": {"title": "plain"}}, "variants": [
            {"name": "plain", "weight": 60}, {"name": "short", "weight": 40, "message": {"notification": {"title": "short"}}}]
        """

    /// Every second device gets an error first, and then the same variant again.
    @Test func eachGetsItsVariantAlsoWhenItIsTriedAgain() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                for user in 0..<30 {
                    let end = String(repeating: "0", count: 55) + "\(100 + user)"
                    for prefix in ["da0000", "e500da"] { try world.device(prefix + end, user: "u\(user)") }
                }
                try world.put(campaign: "sale", Self.members)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active' AND event_type = 'campaign.shop.sale'"
            )
            try await flow.sql { try $0.start("sale") }
            try await flow.until("SELECT count(*) = 1 FROM fanfare.runs WHERE state = 'done'", seconds: 180)
            let expected = try await flow.sql { world in
                try world.connection.query(
                    """
                    SELECT d.token, fanfare.variant_of(v.definition::jsonb, d.user_id, d.id)
                    FROM fanfare.devices AS d CROSS JOIN fanfare.rule_versions AS v WHERE v.event_type = 'campaign.shop.sale'
                    """
                ).rows.map { [$0[0] ?? "", $0[1] ?? ""] }
            }
            #expect(Set(expected.map { $0[1] }) == ["plain", "short", "holdout"])
            let pushes = try await flow.received(by: "da0000") + flow.received(by: "e500da")
            let titles = try Dictionary(grouping: pushes, by: \.token).mapValues { pushes in
                try pushes.map { try $0.json("aps", "alert", "title")?.stringValue ?? "" }
            }
            for delivery in expected {
                let attempts = delivery[0].hasPrefix("e500") ? 2 : 1
                let wanted = delivery[1] == "holdout" ? nil : Array(repeating: delivery[1], count: attempts)
                #expect(titles[delivery[0]] == wanted, "\(delivery)")
            }
            let told = try await flow.sql { world in
                try world.connection.column(
                    """
                    SELECT v.variant || ' ' || v.outcome || ' ' || v.reason || ' ' || v.count
                    FROM fanfare.runs AS o CROSS JOIN LATERAL fanfare.variants(o.event_id) AS v
                    """
                )
            }
            let counts = Dictionary(grouping: expected, by: { $0[1] }).mapValues(\.count)
            let outcomes = ["holdout": "held_out holdout", "plain": "accepted accepted", "short": "accepted accepted"]
            #expect(Set(told) == Set(outcomes.map { "\($0.key) \($0.value) \(counts[$0.key] ?? 0)" }))
        }
    }

    /// One thread plans, renders and sends a single event, in another code path.
    @Test func aLoneEventGoesByItToo() async throws {
        try await Flow.run { flow in
            let groups = try await flow.sql { world in
                for user in 0..<12 {
                    try world.device("db0\(100 + user)" + String(repeating: "0", count: 58), user: "u\(user)")
                }
                try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, Self.members)
                return try world.connection.column(
                    """
                    SELECT fanfare.variant_of(v.definition::jsonb, d.user_id, d.id)
                    FROM fanfare.devices AS d CROSS JOIN fanfare.rule_versions AS v ORDER BY d.id
                    """
                )
            }
            #expect(Set(groups) == ["plain", "short", "holdout"])
            for user in groups.indices {
                let event = try await flow.sql { try $0.emit("e", #"{"u": "u\#(user)"}"#) }
                try await flow.until("SELECT EXISTS (SELECT FROM fanfare.batch_log WHERE event_id = \(event))")
            }
            let pushes = try await flow.received(by: "db0").sorted { $0.token < $1.token }
            #expect(
                try pushes.map { try $0.json("aps", "alert", "title")?.stringValue }
                    == groups.filter { $0 != "holdout" }
            )
        }
    }
}
