import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// Events that are taken back, from the retraction to the providers.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct RetractFlowTests {
    private static let rule = #"""
        "collapse": "room-{{room}}", "message": {"notification": {"title": "Hello"}},
        "badge_sql": "SELECT user_id, count(*) FROM public.unread WHERE user_id = ANY ($1) GROUP BY user_id"
        """#

    private func prepare(_ flow: Flow, _ name: String, _ more: String = "") async throws {
        let browser = try await flow.sandbox.subscription("retract")
        try await flow.sql { world in
            try world.connection.execute(
                """
                CREATE TABLE public.unread (user_id text); INSERT INTO public.unread VALUES ('ann'), ('ann');
                GRANT SELECT ON public.unread TO fanfare_sql
                """
            )
            try world.device("\(name)0", user: "ann")
            try world.register(android: "\(name)-android", user: "ann")
            try world.register(browser, user: "ann")
            try world.rule("chat", event: "chat", to: #"{"users": "$.u"}"#, Self.rule + more)
        }
    }

    @Test func phonesGetOneSilentPushWithIdentifiersAndBadge() async throws {
        try await Flow.run { flow in
            try await prepare(flow, "cad")
            let event = try await flow.sql { try $0.emit("chat", #"{"u": "ann", "room": 5}"#) }
            try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let seen = try await flow.sandbox.received().last?.number ?? 0
            try await flow.sql { try _ = $0.retract(event) }
            try await flow.until(
                "SELECT count(*) = 2 FROM fanfare.deliveries WHERE event_type = 'retract.shop' AND outcome = 'accepted'"
            )
            let pushes = try await flow.sandbox.received(after: seen)
            #expect(pushes.count == 2, "a browser asks at its start")
            let phone = try #require(pushes.first { $0.provider == "apns" })
            #expect(phone.headers["apns-push-type"] == "background" && phone.headers["apns-priority"] == "5")
            #expect(phone.headers["apns-collapse-id"] == nil)
            #expect(try phone.json("aps") == ["content-available": 1])
            #expect(try phone.json("badge") == 2)
            let ids = try #require(try phone.json("fanfare_retracted")?.objectValue)
            #expect(ids.members.map(\.key) == ["room-5"] && ids["room-5"]?.numberValue?.integer ?? 0 > 1_700_000_000)
            let android = try #require(pushes.first { $0.provider == "fcm" })
            let text = try #require(try android.json("message", "data", "fanfare_retracted")?.stringValue)
            #expect(try JSONValue(parsing: text) == .object(ids))
            #expect(
                try android.json("message", "data", "badge") == "2" && android.json("message", "notification") == nil
            )
            #expect(try android.json("message", "apns", "headers", "apns-push-type") == "background")
            #expect(pushes.allSatisfy { $0.problem == nil })
        }
    }

    @Test func aReadReceiptClearsThePhone() async throws {
        try await Flow.run { flow in
            let on = #", "retract_on": {"event": "read", "by": "{{room}}", "user": "{{user_id}}"}"#
            try await prepare(flow, "cae", on)
            try await flow.sql { world in
                try world.emit("chat", #"{"u": ["ann", "bob"], "room": 7}"#)
                try world.emit("read", #"{"user_id": "ann", "room": 7}"#)
            }
            // The receipt may be planned before a push goes out, or afterwards.
            try await flow.until(
                "SELECT NOT EXISTS (SELECT FROM fanfare.value_retractions) AND EXISTS (SELECT FROM fanfare.retractions WHERE due_at IS NULL)"
            )
            try await flow.untilIdle()
            try await flow.until(
                """
                SELECT (SELECT count(*) FROM fanfare.deliveries WHERE event_type = 'chat' AND outcome = 'accepted' AND provider <> 'webpush')
                    = (SELECT count(*) FROM fanfare.deliveries WHERE event_type = 'retract.shop' AND outcome = 'accepted')
                    AND NOT EXISTS (SELECT FROM fanfare.deliveries WHERE event_type = 'chat' AND outcome NOT IN ('accepted', 'retracted'))
                """
            )
        }
    }
}
