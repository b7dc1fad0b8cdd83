import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Messages without a rule, to an iPhone, an Android phone and a browser.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(3)))
struct SendFlowTests {
    private static func send(_ message: String, _ flow: Flow) async throws {
        try await flow.sql { world in _ = try world.connection.query("SELECT fanfare.send($1::jsonb)", message) }
    }

    /// No character of a text is a template, an escape or a name.
    @Test func textsArriveAsTheyWereSent() async throws {
        let title = #"{{name}} & "quotes" \ {{#a}}x{{/a}} é 🎉 {{{"#
        let quoted = JSONValue.string(title).text
        try await Flow.run { flow in
            let browser = try await flow.sandbox.subscription("send-browser")
            try await flow.sql { world in
                try world.device("5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d5e4d", user: "ada")
                try world.register(android: "send-android", user: "ada")
                try world.register(browser, user: "ada")
            }
            try await Self.send(
                """
                {"app": "shop", "to": {"users": ["ada", "ada"]}, "collapse": "order-7", "ttl": "1h", "message": {
                    "notification": {"title": \(quoted), "body": "b"}, "data": {"a.b": "{{x}}", "n": "7"},
                    "android": {"priority": "HIGH"},
                    "apns": {"payload": {"aps": {"badge": 3, "sound": "default"}, "order": {"id": 7, "new": true, "list": [1, "{{x}}"]}}}}}
                """,
                flow
            )
            try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let pushes = try await flow.sandbox.received()
            let iPhone = try #require(pushes.first { $0.provider == "apns" })
            #expect(try iPhone.json("aps", "alert", "title")?.stringValue == title)
            #expect(try iPhone.json("aps", "badge") == 3)
            #expect(try iPhone.json("order") == ["id": 7, "new": true, "list": [1, "{{x}}"]])
            #expect(try iPhone.json("a.b") == "{{x}}")
            #expect(iPhone.headers["apns-collapse-id"] == "order-7")
            let now = Int64(Date.now.timeIntervalSince1970)
            let end = try #require(iPhone.headers["apns-expiration"].flatMap { Int64($0) })
            #expect((now...now + 3600).contains(end))
            let android = try #require(pushes.first { $0.body?.contains("send-android") == true })
            #expect(try android.json("message", "notification", "title")?.stringValue == title)
            #expect(try android.json("message", "data") == ["a.b": "{{x}}", "n": "7"])
            #expect(try android.json("message", "android", "priority") == "HIGH")
            #expect(try android.json("message", "android", "collapse_key") == "order-7")
            let web = try #require(pushes.first { $0.provider == "webpush" })
            #expect(try web.json("notification", "title")?.stringValue == title)
            #expect(web.headers["topic"] != nil && web.headers["ttl"].flatMap { Int($0) }.map { $0 <= 3600 } == true)
        }
    }

    @Test func aUserWhoOptedOutGetsNothingAndAnExpiredMessageIsNotSent() async throws {
        let message = #""message": {"notification": {"title": "T"}}"#
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.register(android: "send-opted-out", user: "ada")
                try world.register(android: "send-bob", user: "bob")
                _ = try world.connection.query("SELECT fanfare.set_preference('shop', 'ada', 'offers', true)")
            }
            try await Self.send(
                #"{"app": "shop", "to": {"users": ["ada", "bob"]}, "category": "offers", \#(message)}"#,
                flow
            )
            try await flow.until(
                """
                SELECT count(*) = 2 FROM fanfare.deliveries WHERE rule LIKE 'send/%'
                    AND (user_id = 'ada' AND reason = 'user_opted_out' OR user_id = 'bob' AND outcome = 'accepted')
                """
            )
            try await flow.sql { world in
                try world.connection.execute("BEGIN")
                let sent = #"{"app": "shop", "to": {"users": "bob"}, "ttl": "1s", \#(message)}"#
                _ = try world.connection.query("SELECT fanfare.send($1::jsonb)", sent)
                try world.connection.execute("SELECT pg_sleep(1.1); COMMIT")
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.events WHERE fate = 'expired' AND type = 'send.shop'"
            )
            #expect(try await flow.received(by: "send-opted-out").isEmpty)
        }
    }
}
