import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService

/// Campaigns with queries through a daemon, to the simulated providers.
@Suite(.database, .flowSandbox, .timeLimit(.minutes(2)))
struct CampaignQueryFlowTests {
    private static let campaign = #"""
        {"app": "shop", "name": "lapsed",
         "audience_sql": "SELECT user_id, jsonb_build_object('first_name', first_name, 'orders', orders) FROM public.lapsed",
         "message": {"notification": {"title": "{{recipient.first_name}}, {{user.orders}} orders"}}}
        """#

    @Test func eachGetsTheirOwnAndATestOnlyTheirs() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.connection.execute(
                    """
                    CREATE TABLE public.lapsed (user_id text, first_name text, orders int);
                    INSERT INTO public.lapsed SELECT 'u' || g, 'Name ' || g, g FROM generate_series(0, 4) AS g;
                    GRANT SELECT ON public.lapsed TO fanfare_sql;
                    """
                )
                for user in 0..<6 {
                    try world.device("cd\(user)" + String(repeating: "0", count: 61), user: "u\(user)")
                }
                _ = try world.connection.query("SELECT fanfare.put_campaign($1::jsonb)", Self.campaign)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active' AND event_type = 'campaign.shop.lapsed'"
            )
            try await flow.sql { _ = try $0.connection.query("SELECT fanfare.test_campaign('shop', 'lapsed', '{u3}')") }
            let tried = try await flow.pushes(1, to: "cd")
            #expect(try tried.map { try $0.json("aps", "alert", "title") } == ["Name 3, 3 orders"])
            try await flow.sql { _ = try $0.connection.query("SELECT fanfare.start_campaign('shop', 'lapsed')") }
            try await flow.until("SELECT bool_or(state = 'done' AND test_users IS NULL) FROM fanfare.runs")
            let titles = try await flow.received(by: "cd").map {
                try $0.json("aps", "alert", "title")?.stringValue ?? ""
            }
            #expect(
                titles.sorted() == [
                    "Name 0, 0 orders", "Name 1, 1 orders", "Name 2, 2 orders", "Name 3, 3 orders", "Name 3, 3 orders",
                    "Name 4, 4 orders",
                ]
            )
        }
    }

    @Test func eachRowGoesOutAsAnEventOfItsOwn() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                for user in 0..<3 {
                    try world.device("cf\(user)" + String(repeating: "0", count: 61), user: "u\(user)")
                }
                let sql = "SELECT jsonb_build_object('user', 'u' || g % 3, 'amount', g) FROM generate_series(1, 9) AS g"
                let campaign = """
                    {"app": "shop", "name": "invoices", "payload_sql": "\(sql)", "to": {"users": "$.user"},
                     "message": {"notification": {"title": "{{amount}}"}}}
                    """
                _ = try world.connection.query("SELECT fanfare.put_campaign($1::jsonb)", campaign)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active' AND event_type = 'campaign.shop.invoices'"
            )
            try await flow.sql { _ = try $0.connection.query("SELECT fanfare.start_campaign('shop', 'invoices')") }
            try await flow.until("SELECT state = 'done' FROM fanfare.runs")
            let titles = try await flow.received(by: "cf").map {
                try $0.json("aps", "alert", "title")?.stringValue ?? ""
            }
            #expect(titles.sorted() == (1...9).map { "\($0)" })
        }
    }

    @Test func whatFailsIsLoggedAndTheNextOneFires() async throws {
        let log = try await Flow.run { flow in
            try await flow.sql { world in
                try world.device("ce0" + String(repeating: "0", count: 61), user: "u0")
                try world.connection.execute(
                    "CREATE TABLE public.lapsed (user_id text, first_name text, orders int); INSERT INTO public.lapsed VALUES ('u0', 'A', 1)"
                )
                _ = try world.connection.query("SELECT fanfare.put_campaign($1::jsonb)", Self.campaign)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.rule_versions WHERE state = 'active' AND event_type = 'campaign.shop.lapsed'"
            )
            try await flow.sql { _ = try $0.connection.query("SELECT fanfare.start_campaign('shop', 'lapsed')") }
            try await flow.until("SELECT state = 'failed' AND detail LIKE '42501: %' FROM fanfare.runs")
            try await flow.sql { world in
                try world.connection.execute("GRANT SELECT ON public.lapsed TO fanfare_sql")
                _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'lapsed')")
            }
            try await flow.until("SELECT bool_or(state = 'done') FROM fanfare.runs")
            #expect(try await flow.received(by: "ce").count == 1)
        }
        let line = try #require(log.first { $0.contains("campaign failed") })
        #expect(
            line.contains(#""level":"error""#) && line.contains("42501") && line.contains(#""campaign.name":"lapsed""#)
        )
    }
}
