import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// `badge_sql` from the rule to the providers.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct BadgeFlowTests {
    private static let rule = #"""
        "badge_sql": "SELECT user_id, count(*) FROM public.unread WHERE user_id = ANY ($1) GROUP BY user_id",
        "message": {"notification": {"title": "Hello"}, "apns": {"payload": {"aps": {"badge": 1}}}}
        """#

    private func prepare(_ flow: Flow, unread: String) async throws {
        let browser = try await flow.sandbox.subscription("badge")
        try await flow.sql { world in
            try world.connection.execute(
                "CREATE TABLE public.unread (user_id text); INSERT INTO public.unread VALUES \(unread)"
            )
            try world.device("bad0", user: "reader")
            try world.device("bad1", user: "other")
            try world.register(android: "badge-android", user: "reader")
            try world.register(browser, user: "reader")
            try world.rule("badge", event: "badge", to: #"{"users": "$.users"}"#, Self.rule)
        }
    }

    @Test func eachProviderGetsTheUsersCount() async throws {
        try await Flow.run { flow in
            try await prepare(flow, unread: "('reader'), ('reader'), ('reader')")
            try await flow.sql { world in
                try world.connection.execute("GRANT SELECT ON public.unread TO fanfare_sql")
                try world.emit("badge", #"{"users": ["reader", "other"]}"#)
            }
            try await flow.until("SELECT count(*) = 4 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let pushes = try await flow.sandbox.received()
            let badges = try ["bad0", "bad1"].map { token in
                try pushes.first { $0.token == token }?.json("aps", "badge")
            }
            #expect(badges == [3, 1], "who has no row keeps the message's own")
            let android = try #require(pushes.first { $0.provider == "fcm" })
            #expect(try android.json("message", "apns", "payload", "aps", "badge") == 3)
            #expect(try android.json("message", "android", "notification", "notification_count") == 3)
            #expect(try pushes.first { $0.provider == "webpush" }?.json("data", "badge") == "3")
        }
    }

    @Test func aQueryThatFailsHoldsNoPushBack() async throws {
        let log = try await Flow.run { flow in
            try await prepare(flow, unread: "('reader')")
            try await flow.sql { try _ = $0.emit("badge", #"{"users": "reader"}"#) }
            try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let push = try #require(try await flow.received(by: "bad0").last)
            #expect(try push.json("aps", "badge") == 1)
            let health = "SELECT detail FROM fanfare.health WHERE NOT ok AND name = 'badge_sql: shop/badge'"
            let detail = try await flow.sql { try $0.connection.text(health) }
            #expect(detail?.contains("42501") == true, "\(detail ?? "no row")")
            try await flow.sql { world in
                try world.connection.execute("GRANT SELECT ON public.unread TO fanfare_sql")
                try world.emit("badge", #"{"users": ["reader", "other"]}"#)
            }
            try await flow.until("SELECT NOT EXISTS (\(health))")
            try await flow.until("SELECT count(*) = 7 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            // The simulated provider also keeps the pushes of other tests.
            let badges = try await flow.received(by: "bad0").suffix(2).map { try $0.json("aps", "badge") }
            #expect(badges == [1, 1] || badges == [1, 3], "\(badges)")
        }
        let line = try #require(log.first { $0.contains("badge_sql failed") })
        #expect(line.contains("42501") && line.contains(#""rule.name":"badge""#))
    }
}
