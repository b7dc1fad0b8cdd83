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

/// The same rules to an iPhone, an Android phone and a browser.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(3)))
struct ProviderFlowTests {
    private static let outcomes = """
        SELECT provider || ' ' || outcome || ' ' || reason FROM fanfare.deliveries
        WHERE outcome <> 'retrying' ORDER BY provider, device_id
        """

    /// The same body to each browser, and the block for FCM without what FCM does not know.
    @Test func browsersGetADeclarativeMessage() async throws {
        try await Flow.run { flow in
            let browsers = try await [flow.sandbox.subscription("safari-1"), flow.sandbox.subscription("safari-2")]
            try await flow.sql { world in
                for browser in browsers { try world.register(browser, user: "safari") }
                try world.register(android: "safari-android", user: "safari")
                try world.rule(
                    "declared",
                    event: "declared",
                    to: #"{"users": "$.user"}"#,
                    #"""
                    "message": {"notification": {"title": "Declared {{n}}"}, "data": {"n": "{{n}}"},
                        "webpush": {"declarative": true, "notification": {"app_badge": "{{n}}", "mutable": false},
                            "fcm_options": {"link": "https://{{host}}/orders/{{n}}"}}}
                    """#
                )
                try world.emit("declared", #"{"user": "safari", "n": 12, "host": "shop.example"}"#)
            }
            try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let pushes = try await flow.sandbox.received()
            let shown = pushes.filter { $0.provider == "webpush" && $0.body?.contains("Declared 12") == true }
            #expect(shown.map(\.presentation) == ["declarative", "declarative"])
            #expect(shown.allSatisfy { $0.problem == nil } && Set(shown.map(\.body)).count == 1)
            #expect(shown.first?.body?.hasPrefix(#"{"web_push":8030,"notification":{"title":"Declared 12","#) == true)
            let android = try #require(pushes.first { $0.body?.contains("safari-android") ?? false })
            #expect(try android.json("message", "webpush", "declarative") == nil && android.status == 200)
            try await flow.sql { try _ = $0.emit("declared", #"{"user": "safari", "n": 13, "host": ""}"#) }
            // FCM would refuse the link too.
            try await flow.until(
                "SELECT count(*) = 2 FROM fanfare.deliveries WHERE outcome = 'refused' AND provider = 'webpush'"
            )
            let detail = try await flow.sql {
                try $0.connection.text(
                    "SELECT detail FROM fanfare.deliveries WHERE outcome = 'refused' AND provider = 'webpush' LIMIT 1"
                )
            }
            #expect(
                detail?.contains("message.webpush.fcm_options.link must be an absolute URL") == true,
                "\(detail ?? "")"
            )
        }
    }

    /// A preview: the block of a rule is passed on.
    @Test func androidGetsTheComingBlock() async throws {
        try await Flow.run { flow in
            let sent = try await sendAndroid(flow, token: "v2-android-plain")
            #expect(sent.own["android_v2"]?["collapse_key"] == "order-12" && sent.own["android"] == nil)
            #expect(sent.own["android_v2"]?["remote_notification"]?["notification"]?["id"] == 12)
            #expect(sent.made["android"] == ["priority": "NORMAL"] && sent.made["android_v2"] == nil)
        }
    }

    @Test func anAppThatAsksGetsTheComingBlockInEveryMessage() async throws {
        try await Flow.run({ $0.apps["shop"]?.fcm?.usesAndroidV2 = true }) { flow in
            let sent = try await sendAndroid(flow, token: "v2-android-asked")
            #expect(sent.own["android_v2"]?["collapse_key"] == "order-12")
            #expect(sent.made["android_v2"] == ["background_sync": [:]] && sent.made["android"] == nil)
        }
    }

    /// Returns the messages of a rule with the block and of one with data alone, as FCM accepted them.
    private func sendAndroid(_ flow: Flow, token: String) async throws -> (own: JSONValue, made: JSONValue) {
        try await flow.sql { world in
            try world.register(android: token, user: "v2")
            try world.rule(
                "own",
                event: "v2",
                to: #"{"users": "$.user"}"#,
                #"""
                "collapse": "order-{{n}}",
                "message": {"notification": {"title": "Own {{n}}"},
                    "android_v2": {"remote_notification": {"mutable_content": true, "notification": {"id": "{{n}}"}}}}
                """#
            )
            try world.rule(
                "made",
                event: "v2",
                to: #"{"users": "$.user"}"#,
                #""message": {"data": {"n": "{{n}}"}, "android": {"priority": "NORMAL"}}"#
            )
            try world.emit("v2", #"{"user": "v2", "n": 12}"#)
        }
        try await flow.until("SELECT count(*) = 2 FROM fanfare.deliveries WHERE outcome = 'accepted'")
        let bodies = try await flow.sandbox.received().compactMap(\.body)
        let messages = try bodies.filter { $0.contains(token) }.map { try JSONValue(parsing: $0)["message"] ?? .null }
        let own = try #require(messages.first { $0["notification"] != nil })
        return (own, try #require(messages.first { $0["notification"] == nil }))
    }

    @Test func oneEventReachesThreeProviders() async throws {
        try await Flow.run { flow in
            let browser = try await flow.sandbox.subscription("trio")
            try await flow.sql { world in
                try world.device("b100", user: "3")
                try world.register(android: "trio-android", user: "3")
                try world.register(browser, user: "3")
                try world.rule(
                    "order",
                    event: "order",
                    to: #"{"users": "$.user"}"#,
                    #"""
                    "collapse": "order-{{n}}", "ttl": "1h",
                    "message": {"notification": {"title": "Order {{n}}", "body": "On its way"}, "data": {"n": "{{n}}"},
                        "android": {"priority": "HIGH"}}
                    """#
                )
                try world.emit("order", #"{"user": 3, "n": 12}"#)
            }
            try await flow.until("SELECT count(*) = 3 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let pushes = try await flow.sandbox.received()
            let apple = try #require(pushes.first { $0.token == "b100" })
            #expect(try apple.json("aps", "alert", "title")?.stringValue == "Order 12")
            #expect(try apple.json("n")?.stringValue == "12")
            let android = try #require(pushes.first { $0.body?.contains("trio-android") ?? false })
            #expect(android.provider == "fcm")
            let message = try android.json("message") ?? JSONValue(parsing: android.body ?? "")
            #expect(message["notification"]?["title"]?.stringValue == "Order 12")
            #expect(message["android"]?["priority"]?.stringValue == "HIGH")
            #expect(message["android"]?["collapse_key"]?.stringValue == "order-12")
            #expect(message["data"]?["n"]?.stringValue == "12")
            let page = try #require(pushes.first { $0.provider == "webpush" && $0.body?.contains("Order 12") == true })
            #expect(try page.json("notification", "title")?.stringValue == "Order 12", "decrypted")
            #expect(page.headers["urgency"] == "high")
            #expect(page.headers["topic"]?.count == 32)
            #expect(page.headers["content-encoding"] == "aes128gcm")
        }
    }

    @Test func everyProviderIsRetriedPrunedAndBelieved() async throws {
        try await Flow.run { flow in
            let names = ["again", "gone", "large", "moved"]
            var browsers: [BrowserSubscription] = []
            for name in names { browsers.append(try await flow.sandbox.subscription("case-\(name)")) }
            try await flow.sql { [browsers] world in
                for token in ["again", "gone", "html", "stale"] {
                    try world.register(android: "\(token)-case", user: "4")
                }
                for browser in browsers { try world.register(browser, user: "4") }
                try world.rule("all", event: "cases", to: #"{"users": "$.user"}"#)
                try world.emit("cases", #"{"user": "4"}"#)
            }
            try await flow.untilIdle()
            let outcomes = try await flow.sql { try $0.connection.column(Self.outcomes) }
            #expect(
                outcomes == [
                    "fcm accepted accepted", "fcm gone UNREGISTERED", "fcm accepted accepted", "fcm accepted accepted",
                    "webpush accepted accepted", "webpush gone gone", "webpush rejected payload_too_large",
                    "webpush rejected status_3xx",
                ]
            )
            let disabled = try await flow.sql { world in
                try world.connection.number("SELECT count(*) FROM fanfare.devices WHERE disabled_at IS NOT NULL")
            }
            #expect(disabled == 2)
        }
    }

    /// An app changes to FIDs and back, with pushes before, between and after.
    @Test func anInstallationIsReachedByTheAddressItRegistered() async throws {
        try await Flow.run { flow in
            let id = try await flow.sql { world in
                try world.rule("one", event: "one", to: #"{"users": "$.user"}"#)
                try world.rule("all", event: "all", to: #"{"everyone": true}"#)
                for n in 1...3 { try world.device("other\(n)", user: "other", provider: "fcm") }
                return try world.device("mover:1", user: "mover", provider: "fcm")
            }
            // Returns the latest outcome of the mover, after an event to it alone, and one to all.
            func push() async throws -> [String?] {
                for (type, payload) in [("one", #"{"user": "mover"}"#), ("all", "{}")] {
                    try await flow.sql { _ = try $0.emit(type, payload) }
                    try await flow.untilIdle()
                }
                return try await flow.sql { world in
                    try world.connection.column(
                        """
                        SELECT outcome || ' ' || reason FROM fanfare.deliveries WHERE device_id = \(id) ORDER BY event_id DESC LIMIT 2
                        """
                    )
                }
            }
            func register(_ token: String, _ address: String) async throws -> Int64 {
                try await flow.sql { try $0.device(token, user: "mover", provider: "fcm", "address => '\(address)'") }
            }
            let accepted = Array(repeating: "accepted accepted", count: 2)
            #expect(try await push() == accepted)
            try await flow.sandbox.registerInstallations("mover", by: "fid")
            #expect(try await register("mover", "fid") == id)
            #expect(try await push() == accepted)
            let last = try #require(try await flow.sandbox.received().last { $0.body?.contains("mover") == true })
            #expect(last.body?.contains(#""fid":"mover""#) == true)
            // Rolled back to an old version of the app.
            try await flow.sandbox.registerInstallations("mover", by: "token")
            #expect(try await push() == Array(repeating: "rejected UNREGISTERED_new", count: 2), "a new FID is kept")
            #expect(try await register("mover:2", "token") == id)
            #expect(try await push() == accepted)
            // Removed an hour ago.
            try await flow.sandbox.registerInstallations("mover", by: "none")
            #expect(try await register("mover", "fid") == id)
            try await flow.sql { world in
                try world.connection.execute(
                    "UPDATE fanfare.devices SET registered_at = registered_at - interval '1 hour' WHERE id = \(id)"
                )
            }
            #expect(try await push().first == "gone UNREGISTERED")
        }
    }

    /// 65 bytes that start with 4 and are not a point of P-256: SQL accepts them, but encryption with them fails.
    @Test func aKeyOffTheCurveEndsItsDeviceOnce() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                let key = "BAEB" + String(repeating: "AQEB", count: 20) + "AQE"
                _ = try world.device(
                    "https://localhost:1/push/x",
                    user: "curve",
                    provider: "webpush",
                    "p256dh => '\(key)', auth => 'MDEyMzQ1Njc4OWFiY2RlZg'"
                )
                try world.rule("all", event: "cases", to: #"{"users": "$.user"}"#)
                try world.emit("cases", #"{"user": "curve"}"#)
            }
            try await flow.untilIdle()
            let outcomes = try await flow.sql { try $0.connection.column(Self.outcomes) }
            #expect(outcomes == ["webpush gone invalid_subscription"])
            let reason = try await flow.sql { world in
                try world.connection.text("SELECT disabled_reason FROM fanfare.devices WHERE disabled_at IS NOT NULL")
            }
            #expect(reason == "invalid_subscription")
        }
    }

    /// Chrome gives pages such endpoints for subscriptions that it has ended; SQL accepts them.
    @Test func anAddressThatNeverExistsEndsItsDeviceOnce() async throws {
        try await Flow.run({
            $0.apps["shop"]?.webPush?.allowedHosts = ["*"]
            $0.apps["shop"]?.webhook?.allowedHosts = ["*"]
        }) { flow in
            try await flow.sql { world in
                let keys = "p256dh => '\(SampleSubscription.p256dh)', auth => '\(SampleSubscription.auth)'"
                let endpoint = "https://permanently-removed.invalid/fcm/send/x"
                _ = try world.device(endpoint, user: "nowhere", provider: "webpush", keys)
                let secret = "auth => 'whsec_\(String(repeating: "A", count: 32))'"
                _ = try world.device("https://hooks.invalid/x", user: "nowhere", provider: "webhook", secret)
                try world.rule("all", event: "cases", to: #"{"users": "$.user"}"#)
                try world.emit("cases", #"{"user": "nowhere"}"#)
            }
            try await flow.untilIdle()
            try await flow.sql { _ = try $0.emit("cases", #"{"user": "nowhere"}"#) }
            try await flow.untilIdle()
            let outcomes = try await flow.sql { try $0.connection.column(Self.outcomes) }
            #expect(outcomes == ["webhook gone invalid_endpoint", "webpush gone invalid_subscription"])
            let reasons = try await flow.sql { world in
                try world.connection.column(
                    "SELECT disabled_reason FROM fanfare.devices WHERE disabled_at IS NOT NULL ORDER BY 1"
                )
            }
            #expect(reasons == ["invalid_endpoint", "invalid_subscription"])
        }
    }

    /// A distributor of UnifiedPush is a Web Push service on another host, which has to be allowed.
    @Test(arguments: [
        (WebPushSettings.services, "refused destination_forbidden"), (["localhost"], "accepted accepted"),
    ])
    func unifiedPushNeedsItsHostAllowed(hosts: [String], expected: String) async throws {
        try await Flow.run({ $0.apps["shop"]?.webPush?.allowedHosts = hosts }) { flow in
            let phone = try await flow.sandbox.subscription("up-\(hosts.count)", at: "unifiedpush")
            try await flow.sql { world in
                try world.register(phone, user: "6")
                try world.rule("unified", event: "unified", to: #"{"users": "$.user"}"#)
                try world.emit("unified", #"{"user": "6"}"#)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.deliveries WHERE outcome NOT IN ('pending', 'retrying')"
            )
            let outcomes = try await flow.sql { world in
                try world.connection.column("SELECT outcome || ' ' || reason FROM fanfare.deliveries")
            }
            #expect(outcomes == [expected])
            let pushes = try await flow.sandbox.received().filter { phone.endpoint.hasSuffix($0.path) }
            #expect(pushes.count == (hosts == ["localhost"] ? 1 : 0))
            #expect(pushes.allSatisfy { $0.body?.contains("notification") == true }, "the phone can decrypt it")
        }
    }

    @Test func strangersEndpointsAreNeverConnectedTo() async throws {
        try await Flow.run({
            $0.apps["shop"]?.webPush?.allowedHosts = ["localhost", "*.test", "10.0.0.1", "127.0.0.1"]
        }) { flow in
            let browser = try await flow.sandbox.subscription("stranger")
            let places = [
                "https://10.0.0.1/a", "https://metadata.example/b", "http://localhost/c", "https://127.0.0.1:1/d",
            ]
            try await flow.sql { world in
                for place in places {
                    _ = try? world.connection.query(
                        "SELECT fanfare.register_device('shop', 'webpush', $1, '5', p256dh => $2, auth => $3)",
                        place,
                        browser.keys.p256dh,
                        browser.keys.auth
                    )
                }
                try world.rule("strangers", event: "strangers", to: #"{"users": "$.user"}"#)
                try world.emit("strangers", #"{"user": "5"}"#)
            }
            try await flow.until(
                """
                SELECT count(*) > 1 FROM fanfare.deliveries WHERE event_type = 'strangers' AND outcome = 'refused'
                    AND reason = 'destination_forbidden'
                """
            )
            let wrong = try await flow.sql { world in
                try world.connection.column("SELECT outcome FROM fanfare.deliveries WHERE outcome = 'accepted'")
            }
            #expect(wrong.isEmpty)
        }
    }

    @Test func oneRequestReachesATopicOfFCM() async throws {
        try await Flow.run { flow in
            try await flow.sql { world in
                try world.rule("stores", event: "stores", to: #"{"fcm_topic": "store-{{store}}"}"#)
                try world.emit("stores", #"{"store": 7}"#)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.deliveries WHERE event_type = 'stores' AND outcome = 'accepted'"
            )
            let pushes = try await flow.sandbox.received().filter { $0.body?.contains("store-7") ?? false }
            #expect(try pushes.map { try $0.json("message", "topic")?.stringValue } == ["store-7"])
        }
    }

    /// PKCS #12 with a password, as keychains export it.
    @Test func aCertificateTakesTheKeysPlace() async throws {
        let openssl = try OpenSSL()
        let pem = try #require(FlowSandboxTrait.sandbox).ready.certificateFile
        try await openssl.run(["pkcs12", "-export", "-in", pem, "-out", "push.p12", "-passout", "pass:secret"])
        try openssl.setMode("push.p12", 0o600)
        try openssl.write("password", "secret\n")
        try await Flow.run({ configuration in
            configuration.apps["shop"]?.apns?.certificateFile = openssl.path("push.p12")
            configuration.apps["shop"]?.apns?.certificatePasswordFile = openssl.path("password")
        }) { flow in
            try await flow.sql { world in
                try world.device("b200", user: "6")
                try world.rule("one", event: "one", to: #"{"users": "$.user"}"#)
                try world.emit("one", #"{"user": "6"}"#)
            }
            let push = try #require(try await flow.pushes(1, to: "b200").first)
            #expect(push.status == 200)
            #expect(push.headers["authorization"] == nil)
        }
    }
}
