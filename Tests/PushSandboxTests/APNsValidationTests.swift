import NIOHPACK
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct APNsValidationTests {
    /// One error in a request, and the expected answer.
    struct Row: Sendable {
        let name: String
        let status: Int
        let reason: String
        let bend: @Sendable (TestRequest) -> TestRequest
    }

    static let rows: [Row] = [
        Row(name: "apns header twice", status: 400, reason: "DuplicateHeaders") { $0.adding("apns-priority", "5") },
        Row(name: "authorization twice", status: 400, reason: "DuplicateHeaders") { $0.adding("authorization", "x") },
        Row(name: "unknown apns header twice", status: 400, reason: "DuplicateHeaders") {
            $0.adding("apns-x", "1").adding("apns-x", "2")
        },
        Row(name: "id without dashes", status: 400, reason: "BadMessageId") {
            $0.with("apns-id", "5f0c2f0e6d3a4c0e9c1e1a2b3c4d5e6f")
        },
        Row(name: "id too short", status: 400, reason: "BadMessageId") {
            $0.with("apns-id", "5f0c2f0e-6d3a-4c0e-9c1e-1a2b3c4d5e6")
        },
        Row(name: "GET", status: 405, reason: "MethodNotAllowed") { $0.with(method: "GET") },
        Row(name: "no topic", status: 400, reason: "MissingTopic") { $0.with("apns-topic", nil) },
        Row(name: "collapse id of 65 bytes", status: 400, reason: "BadCollapseId") {
            $0.with("apns-collapse-id", "é" + String(repeating: "x", count: 63))
        },
        Row(name: "priority 7", status: 400, reason: "BadPriority") { $0.with("apns-priority", "7") },
        Row(name: "background at priority 10", status: 400, reason: "BadPriority") {
            $0.with("apns-push-type", "background")
        },
        Row(name: "unknown push type", status: 400, reason: "InvalidPushType") { $0.with("apns-push-type", "fax") },
        Row(name: "expiration as a date", status: 400, reason: "BadExpirationDate") {
            $0.with("apns-expiration", "2030-01-01")
        },
        Row(name: "expiration in milliseconds", status: 400, reason: "BadExpirationDate") {
            $0.with("apns-expiration", "1790000000000")
        },
        Row(name: "badge as text", status: 400, reason: "BadRequestPayload") {
            $0.with(body: #"{"aps":{"alert":"x","badge":"3"}}"#)
        },
        Row(name: "level that is none", status: 400, reason: "BadRequestPayload") {
            $0.with(body: #"{"aps":{"alert":"x","interruption-level":"Critical"}}"#)
        },
        Row(name: "no token in path", status: 400, reason: "MissingDeviceToken") { $0.with(path: "/3/device/") },
        Row(name: "no slash either", status: 400, reason: "MissingDeviceToken") { $0.with(path: "/3/device") },
        Row(name: "another path", status: 404, reason: "BadPath") { $0.with(path: "/4/device/00aa") },
        Row(name: "no hex", status: 400, reason: "BadDeviceToken") { $0.with(path: "/3/device/00zz") },
        Row(name: "half a byte", status: 400, reason: "BadDeviceToken") { $0.with(path: "/3/device/00a") },
        Row(name: "no authorization", status: 403, reason: "MissingProviderToken") { $0.with("authorization", nil) },
        Row(name: "another scheme", status: 403, reason: "MissingProviderToken") {
            $0.with("authorization", "basic eDp5")
        },
        Row(name: "empty token", status: 403, reason: "MissingProviderToken") { $0.with("authorization", "bearer ") },
        Row(name: "foreign topic", status: 400, reason: "TopicDisallowed") { $0.with("apns-topic", "org.other.app") },
        Row(name: "topic without the type's suffix", status: 400, reason: "BadTopic") {
            $0.with("apns-push-type", "voip")
        },
        Row(name: "no body", status: 400, reason: "PayloadEmpty") { $0.with(body: "") },
        Row(name: "4097 bytes", status: 413, reason: "PayloadTooLarge") {
            $0.with(body: String(repeating: "x", count: 4097))
        },
        Row(name: "voip of 5121 bytes", status: 413, reason: "PayloadTooLarge") {
            $0.with("apns-push-type", "voip").with("apns-topic", "com.example.demo.voip")
                .with(body: String(repeating: "x", count: 5121))
        },
        Row(name: "more than a flow-control window", status: 413, reason: "PayloadTooLarge") {
            $0.with(body: String(repeating: "x", count: 200_000))
        },
    ]

    @Test func everyMistakeGetsItsReason() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let good = try fixture.request()
            for row in Self.rows {
                let response = try await client.push(row.bend(good))
                #expect(response.status == row.status, "\(row.name)")
                #expect(response.body == #"{"reason":"\#(row.reason)"}"#, "\(row.name)")
                #expect(response.headers.first(name: "content-type") == "application/json", "\(row.name)")
                #expect(response.headers.first(name: "apns-id")?.count == 36, "\(row.name)")
            }
            let counts = fixture.sandbox.counts
            #expect(counts.received == Self.rows.count)
            #expect(counts.accepted == 0)
            #expect(counts.connections == 1)
            await client.close()
        }
    }

    @Test func everyPushTypeIsAcceptedWithItsTopicAndSize() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            for type in APNsPushType.allCases {
                let request = try fixture.request()
                    .with("apns-push-type", type.rawValue)
                    .with("apns-topic", "com.example.demo" + type.topicSuffix)
                    .with("apns-priority", "5")
                    .with("apns-collapse-id", String(repeating: "c", count: 64))
                    .with("apns-expiration", "0")
                    .with(body: String(repeating: "x", count: type == .voip ? 5120 : 4096))
                let response = try await client.push(request)
                #expect(response.status == 200, "\(type)")
            }
            await client.close()
        }
    }

    @Test func anAcceptedPushIsAnsweredByHeadersAlone() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let id = "5F0C2F0E-6D3A-4C0E-9C1E-1A2B3C4D5E6F"
            let response = try await client.push(fixture.request(id: id))
            #expect(response.status == 200)
            #expect(response.body.isEmpty)
            #expect(response.headers.first(name: "apns-id") == id.lowercased())
            #expect(response.headers.first(name: "apns-unique-id") == nil)
            #expect(response.headers.count == 2)
            await client.close()
        }
    }

    @Test func onlyTheSandboxEnvironmentNamesTheUniqueID() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect(sandboxEnvironment: true)
            let response = try await client.push(fixture.request())
            #expect(response.status == 200)
            #expect(response.headers.first(name: "apns-unique-id").map(CanonicalUUID.isValid) == true)
            #expect(try await fixture.sandbox.received(after: 0).map(\.environment) == ["sandbox"])
            await client.close()
        }
    }

    @Test func theOrderOfChecksIsAChoice() async throws {
        for (order, expected) in [
            (SandboxOptions.ValidationOrder.service, ["MissingProviderToken", "TopicDisallowed"]),
            (.pushy, ["BadDeviceToken", "InvalidProviderToken"]),
        ] {
            try await withSandbox {
                $0.validationOrder = order
            } _: { fixture in
                let client = try await fixture.connect()
                let twoMistakes = try fixture.request(token: "zz").with("authorization", nil)
                #expect(try await client.push(twoMistakes).reason == expected[0])
                let foreign = try fixture.request().with("apns-topic", "org.other.app")
                #expect(try await client.push(foreign).reason == expected[1])
                await client.close()
            }
        }
    }

    @Test func withoutHTTP2ThereIsNoConnection() async throws {
        try await withSandbox { fixture in
            let client = try await PushClient.connect(
                port: fixture.sandbox.tlsPort,
                caFile: fixture.sandbox.ready.caFile,
                alpn: "http/1.1",
                first: []
            )
            let seen = await client.wait { $0.isClosed }
            #expect(seen.responses.isEmpty)
            #expect(fixture.sandbox.counts.connections == 0)
        }
    }
}
