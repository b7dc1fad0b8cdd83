import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct BroadcastTests {
    private static let id = "5f0c2f0e-6d3a-4c0e-9c1e-1a2b3c4d5e6f"

    private static func manage(
        _ fixture: SandboxFixture,
        _ method: String,
        _ path: String = "/1/apps/com.example.demo/channels",
        channel: String? = nil,
        body: String = ""
    ) throws -> TestRequest {
        let authorization = try fixture.request().headers.first { $0.0 == "authorization" }?.1
        return TestRequest(method, path: path, headers: [], body: body)
            .with("authorization", authorization).with("apns-channel-id", channel)
    }

    private static func publish(_ fixture: SandboxFixture, to channel: String?) throws -> TestRequest {
        try manage(fixture, "POST", "/4/broadcasts/apps/com.example.demo", channel: channel)
            .with("apns-push-type", "LiveActivity").with("apns-priority", "10").with("apns-expiration", "0")
            .with(body: #"{"aps":{"timestamp":1,"event":"update","content-state":{}}}"#)
    }

    @Test func channelsAreMadeReadListedAndDeleted() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let body = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
            let made = try await client.push(Self.manage(fixture, "POST", body: body).with("apns-request-id", Self.id))
            #expect((made.status, made.body, made.header("apns-request-id")) == (201, "", Self.id))
            let channel = try #require(made.header("apns-channel-id"))
            let read = try await client.push(Self.manage(fixture, "GET", channel: channel))
            #expect((read.status, read.body) == (200, body))
            let list = try Self.manage(fixture, "GET", "/1/apps/com.example.demo/all-channels")
            #expect(try await client.push(list).body == #"{"channels":["\#(channel)"]}"#)

            #expect(try await client.push(Self.publish(fixture, to: channel)).status == 200)
            let late = try Self.publish(fixture, to: channel).with("apns-expiration", "1790000600")
            #expect(try await client.push(late).reason == "BadExpirationDate", "nothing is stored")

            #expect(try await client.push(Self.manage(fixture, "DELETE", channel: channel)).status == 204)
            #expect(
                try await client.push(Self.manage(fixture, "GET", channel: channel)).reason == "ChannelNotRegistered"
            )
            #expect(try await client.push(Self.publish(fixture, to: channel)).reason == "ChannelNotRegistered")
            #expect(try await client.push(list).body == #"{"channels":[]}"#)
            await client.close()
        }
    }

    @Test func everyWellFormedChannelIsKnown() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let request = try Self.publish(fixture, to: "dGVzdC1jaGFubmVs").with("apns-expiration", "1790000600")
            for _ in 0..<2 {
                let response = try await client.push(request.with("apns-request-id", Self.id.uppercased()))
                #expect((response.status, response.body, response.header("apns-request-id")) == (200, "", Self.id))
            }
            #expect(client.seen.streamLimits == [1, 1000])
            let push = try #require(try await fixture.sandbox.received(after: 0).first)
            #expect((push.provider, push.target) == ("apns", "dGVzdC1jaGFubmVs"))
            let counts = fixture.sandbox.counts
            #expect((counts.distinctTokens, counts.duplicates) == (1, 1))
            try fixture.faults(#"[{"do": "status", "reason": "FeatureNotEnabled", "match": {"token": "^dGV"}}]"#)
            let response = try await client.push(request)
            #expect((response.status, response.reason) == (400, "FeatureNotEnabled"))
            #expect(response.header("apns-request-id") != nil)
            await client.close()
        }
    }

    @Test func everyMistakeGetsItsReason() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let good = try Self.publish(fixture, to: "dGVzdC1jaGFubmVs")
            let make = try Self.manage(
                fixture,
                "POST",
                body: #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#
            )
            let cases: [(TestRequest, Int, String)] = [
                (good.with(method: "PUT"), 405, "MethodNotAllowed"),
                (good.with("authorization", nil), 403, "MissingProviderToken"),
                (good.with("apns-request-id", "x"), 400, "BadMessageId"),
                (good.with(path: "/4/broadcasts/apps/com.example.demo.push-type.liveactivity"), 400, "TopicDisallowed"),
                (good.with(path: "/4/broadcasts/apps/org.other"), 400, "TopicDisallowed"),
                (good.with(path: "/4/broadcasts/apps/"), 404, "BadPath"),
                (good.with(path: "/1/apps/com.example.demo/all"), 404, "BadPath"),
                (good.with("apns-channel-id", nil), 400, "MissingChannelId"),
                (good.with("apns-channel-id", "no base64!"), 400, "BadChannelId"),
                (good.with("apns-push-type", nil), 400, "MissingPushType"),
                (good.with("apns-push-type", "alert"), 400, "InvalidPushType"),
                (good.with("apns-priority", nil), 400, "BadPriority"),
                (good.with("apns-expiration", nil), 400, "BadExpirationDate"),
                (good.with(body: ""), 400, "PayloadEmpty"), (good.with(body: "{"), 400, "BadRequestPayload"),
                (good.with(body: String(repeating: " ", count: 5121)), 413, "PayloadTooLarge"),
                (make.with(body: ""), 400, "PayloadEmpty"), (make.with(body: "[]"), 400, "BadRequestPayload"),
                (make.with(body: #"{"message-storage-policy":1}"#), 400, "MissingPushType"),
                (make.with(body: #"{"message-storage-policy":1,"push-type":"Alert"}"#), 400, "InvalidPushType"),
                (make.with(body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#), 400, "BadRequestParams"),
            ]
            for (request, status, reason) in cases {
                let response = try await client.push(request)
                #expect((response.status, response.reason) == (status, reason))
            }
            await client.close()
        }
    }
}
