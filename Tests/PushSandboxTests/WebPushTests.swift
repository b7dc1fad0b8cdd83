import Foundation
import PushCrypto
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct WebPushTests {
    static func sender(
        _ fixture: SandboxFixture,
        _ name: String = "browser-1",
        _ service: WebPushService = .rfc,
        _ key: ApplicationServerKey = .sandbox
    ) throws -> WebPushSender {
        let subscription = try fixture.sandbox.subscription(name, service: service, restrictedTo: key)
        return try WebPushSender(subscription, keyFile: fixture.sandbox.ready.vapidKeyFile)
    }

    @Test(arguments: WebPushService.allCases)
    func everyServiceTakesAGoodMessageAndTheBrowserReadsIt(service: WebPushService) async throws {
        try await withSandbox { fixture in
            let sender = try Self.sender(fixture, "browser-1", service)
            let client = try await fixture.connect()
            let message = #"{"notification":{"title":"Ordér 7"}}"#
            let request = try sender.request(message, at: fixture.clock.seconds, padding: 100)
            let response = try await client.push(request.with("topic", "order-7").with("urgency", "high"))
            #expect(response.status == 201, "\(response)")
            #expect(response.header("location")?.hasPrefix(sender.origin) == true)
            #expect((response.json["message-id"]?.text != nil) == (service == .mozilla))
            #expect(response.body.isEmpty == (service != .mozilla))
            #expect((response.header("apns-id") != nil) == (service == .apple))
            #expect((response.header("x-wns-notificationstatus") != nil) == (service == .wns))
            let push = try #require(try await fixture.sandbox.received(after: 0).first)
            #expect((push.provider, push.body, push.bodyBase64, push.problem) == ("webpush", message, nil, nil))
            #expect(push.target == sender.path)
            #expect(push.headers["authorization"]?.hasPrefix("vapid #") == true)
            await client.close()
        }
    }

    @Test func aMessageForAnotherBrowserIsAcceptedAndTold() async throws {
        try await withSandbox { fixture in
            let sender = try Self.sender(fixture)
            let other = try Self.sender(fixture, "browser-2")
            let client = try await fixture.connect()
            let body = try other.encrypt(Array("secret".utf8))
            #expect(try await client.push(sender.request(body: body, at: fixture.clock.seconds)).status == 201)
            let notLast = try sender.encrypt(Array("x".utf8), delimiter: 1)
            #expect(try await client.push(sender.request(body: notLast, at: fixture.clock.seconds)).status == 201)
            let pushes = try await fixture.sandbox.received(after: 0)
            #expect(pushes.map { $0.problem?.hasPrefix("the browser cannot decrypt") } == [true, true])
            #expect(pushes.first?.bodyBase64 == Data(body).base64EncodedString())
            #expect(fixture.sandbox.counts.problems == 2)
            await client.close()
        }
    }

    @Test func aMessageMayHaveNoBody() async throws {
        try await withSandbox { fixture in
            let sender = try Self.sender(fixture)
            let client = try await fixture.connect()
            let request = try sender.request(body: [], at: fixture.clock.seconds).with("content-encoding", nil)
            #expect(try await client.push(request).status == 201)
            #expect(fixture.sandbox.counts.problems == 0)
            await client.close()
        }
    }

    @Test func timesToLiveAreCutAndReceiptsPromised() async throws {
        try await withSandbox { fixture in
            let sender = try Self.sender(fixture)
            let client = try await fixture.connect()
            let request = try sender.request("{}", at: fixture.clock.seconds)
            let long = try await client.push(request.with("ttl", "99999999999999999999999"))
            #expect((long.status, long.header("ttl")) == (201, "2592000"))
            let receipt = try await client.push(request.with("prefer", "respond-async"))
            #expect(receipt.status == 202)
            #expect(receipt.header("link")?.contains("urn:ietf:params:push:receipt") == true)
            await client.close()
        }
    }

    /// One error in a request, and the answer that the RFCs require.
    struct Row: Sendable {
        let name: String
        let rejection: WebPushRejection
        let bend: @Sendable (WebPushSender, TestRequest, Int64) throws -> TestRequest

        init(
            name: String,
            rejection: WebPushRejection,
            bend: @escaping @Sendable (WebPushSender, TestRequest, Int64) throws -> TestRequest
        ) {
            self.name = name
            self.rejection = rejection
            self.bend = bend
        }

        init(
            name: String,
            rejection: WebPushRejection,
            request bend: @escaping @Sendable (TestRequest) throws -> TestRequest
        ) {
            self.init(name: name, rejection: rejection) { _, request, _ in try bend(request) }
        }
    }

    static let rows: [Row] = [
        Row(name: "no such path", rejection: .notFound) { $0.with(path: "/push/not@base64url") },
        Row(name: "empty id", rejection: .notFound) { $0.with(path: "/push/") },
        Row(name: "GET", rejection: .methodNotAllowed) { $0.with(method: "GET").with(body: "") },
        Row(name: "no TTL", rejection: .missingTTL) { $0.with("ttl", nil) },
        Row(name: "TTL below 0", rejection: .badTTL) { $0.with("ttl", "-1") },
        Row(name: "TTL as text", rejection: .badTTL) { $0.with("ttl", "1h") },
        Row(name: "two TTLs", rejection: .badTTL) { $0.adding("ttl", "60") },
        Row(name: "unknown urgency", rejection: .badUrgency) { $0.with("urgency", "urgent") },
        Row(name: "two urgencies", rejection: .badUrgency) { $0.with("urgency", "high, low") },
        Row(name: "topic of 33", rejection: .badTopic) { $0.with("topic", String(repeating: "t", count: 33)) },
        Row(name: "topic with a blank", rejection: .badTopic) { $0.with("topic", "order 7") },
        Row(name: "no credential", rejection: .unauthorized) { $0.with("authorization", nil) },
        Row(name: "other scheme", rejection: .badAuthorization) { $0.with("authorization", "bearer x") },
        Row(name: "no k", rejection: .badAuthorization) { $0.with("authorization", "vapid t=a.b.c") },
        Row(name: "padded k", rejection: .badKey) {
            let key = Data(try $0.signingKey.publicPoint()).base64URL + "="
            return $1.with("authorization", try $0.authorization(claims: claims($0, $2 + 60), publicKey: key))
        },
        Row(name: "DER", rejection: .badToken) {
            $1.with("authorization", try $0.authorization(claims: claims($0, $2 + 60), der: true))
        },
        Row(name: "other algorithm", rejection: .badToken) {
            $1.with("authorization", try $0.authorization(header: #"{"alg":"HS256"}"#, claims: claims($0, $2 + 60)))
        },
        Row(name: "no exp", rejection: .badToken) { sender, request, _ in
            request.with("authorization", try sender.authorization(claims: #"{"aud":"\#(sender.origin)"}"#))
        },
        Row(name: "over a day", rejection: .badToken) {
            $1.with("authorization", try $0.authorization(claims: claims($0, $2 + 86_401)))
        },
        Row(name: "expired", rejection: .expiredToken) {
            $1.with("authorization", try $0.authorization(claims: claims($0, $2)))
        },
        Row(name: "origin with a slash", rejection: .badAudience) {
            let claims = #"{"aud":"\#($0.origin)/","exp":\#($2 + 60)}"#
            return $1.with("authorization", try $0.authorization(claims: claims))
        },
        Row(name: "other key", rejection: .keyMismatch) {
            var stranger = $0
            stranger.signingKey = try SigningKey.generateES256()
            return $1.with("authorization", try stranger.authorization(claims: claims($0, $2 + 60)))
        },
        Row(name: "signing key for encryption", rejection: .keyReused) { sender, request, _ in
            request.with(content: try sender.encrypt([1], keyID: sender.signingKey.publicPoint()))
        },
        Row(name: "4097 bytes", rejection: .payloadTooLarge) { sender, request, _ in
            request.with(content: try sender.encrypt(Array(repeating: 65, count: 3994)))
        },
        Row(name: "no coding", rejection: .badEncryption) { $0.with("content-encoding", nil) },
        Row(name: "draft coding", rejection: .badEncryption) { $0.with("content-encoding", "aesgcm") },
        Row(name: "clear text", rejection: .badEncryption) { $0.with(body: #"{"notification":{}}"#) },
        Row(name: "no point", rejection: .badEncryption) {
            var content = $0.content
            content[40] ^= 1
            return $0.with(content: content)
        },
    ]

    private static func claims(_ sender: WebPushSender, _ end: Int64) -> String {
        #"{"aud":"\#(sender.origin)","exp":\#(end)}"#
    }

    @Test func everyMistakeGetsItsReason() async throws {
        try await withSandbox { fixture in
            let sender = try Self.sender(fixture)
            let client = try await fixture.connect()
            let now = fixture.clock.seconds
            let good = try sender.request(String(repeating: "x", count: 3993), at: now)
            #expect(try await client.push(good).status == 201, "4096 bytes are never too many")
            for row in Self.rows {
                let response = try await client.push(row.bend(sender, good, now))
                #expect(response.status == row.rejection.status, "\(row.name)")
                #expect((response.header("www-authenticate") == "vapid") == (response.status == 401), "\(row.name)")
            }
            let pushes = try await fixture.sandbox.received(after: 1)
            #expect(pushes.map(\.reason) == Self.rows.map(\.rejection.rawValue))
            await client.close()
        }
    }

    @Test func subscriptionsMayBelongToAnotherKeyOrToNone() async throws {
        try await withSandbox { fixture in
            let key = try SigningKey.generateES256()
            let publicKey = Data(try key.publicPoint()).base64URL
            var restricted = try Self.sender(fixture, "b", .mozilla, .key(publicKey))
            let client = try await fixture.connect()
            let now = fixture.clock.seconds
            #expect(try await client.push(restricted.request("{}", at: now)).status == 401, "the sandbox's own key")
            restricted.signingKey = key
            #expect(try await client.push(restricted.request("{}", at: now)).status == 201)

            let open = try Self.sender(fixture, "b", .rfc, ApplicationServerKey.none)
            #expect(try await client.push(open.request("{}", at: now).with("authorization", nil)).status == 201)
            let old = try WebPushSender(
                PushSubscription(endpoint: open.origin + "/wpush/v1/b", keys: open.subscription.keys),
                keyFile: fixture.sandbox.ready.vapidKeyFile
            )
            #expect(try await client.push(old.request("{}", at: now).with("authorization", nil)).status == 201)
            await client.close()
        }
    }

    @Test func faultsSelectEndpoints() async throws {
        try await withSandbox { fixture in
            try fixture.faults(
                #"""
                [{"do": "status", "provider": "webpush", "reason": "Gone", "match": {"token": "/gone-"}},
                 {"do": "status", "provider": "webpush", "status": 307, "location": "https://localhost/elsewhere"}]
                """#
            )
            let client = try await fixture.connect()
            let now = fixture.clock.seconds
            let gone = try await client.push(Self.sender(fixture, "gone-1").request("{}", at: now))
            #expect(gone.status == 410)
            let moved = try await client.push(Self.sender(fixture, "there").request("{}", at: now))
            #expect((moved.status, moved.header("location")) == (307, "https://localhost/elsewhere"))
            await client.close()
        }
    }

    @Test func aRepeatHasTheSameTopicAndText() async throws {
        try await withSandbox { fixture in
            let sender = try Self.sender(fixture)
            let client = try await fixture.connect()
            for text in ["one", "two", "one"] {
                let request = try sender.request(text, at: fixture.clock.seconds).with("topic", "t")
                #expect(try await client.push(request).status == 201)
            }
            #expect((fixture.sandbox.counts.duplicates, fixture.sandbox.counts.distinctTokens) == (1, 1))
            await client.close()
        }
    }

    @Test func aSinkDoesNotDecrypt() async throws {
        try await withSandbox {
            $0.sink = true
        } _: { fixture in
            let other = try Self.sender(fixture, "other")
            let body = try other.encrypt([1])
            let client = try await fixture.connect()
            let request = try Self.sender(fixture).request(body: body, at: fixture.clock.seconds)
            #expect(try await client.push(request).status == 201)
            #expect(fixture.sandbox.counts.problems == 0)
            await client.close()
        }
    }
}
