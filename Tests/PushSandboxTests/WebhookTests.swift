import Foundation
import PushCrypto
import Testing

@testable import PushSandbox

/// The simulated receivers of webhooks: their checks and their records.
@Suite(.timeLimit(.minutes(5)))
struct WebhookTests {
    private static let body = #"{"type":"order.shipped","timestamp":"2026-09-21T00:00:00Z","data":{"k":"v"}}"#

    /// Returns a request signed with the device's secret.
    private func request(_ fixture: SandboxFixture, body: String = body, age: Int64 = 0) throws -> TestRequest {
        let device = try #require(fixture.sandbox.devices(named: "one").first { $0.provider == "webhook" })
        let secret = try #require(device.auth.flatMap { Data(base64Encoded: String($0.dropFirst("whsec_".count))) })
        let (id, time) = ("msg-1", String(fixture.clock.seconds - age))
        let code = try HMACSHA256.open().code(key: Array(secret), Array("\(id).\(time).\(body)".utf8))
        let headers = [
            ("webhook-id", id), ("webhook-timestamp", time),
            ("webhook-signature", "v1,AAAA v1,\(Data(code).base64EncodedString())"),
        ]
        return TestRequest(path: "/hooks/one", headers: headers, body: body)
    }

    @Test func aSignedRequestIsTakenAndItsRepeatTold() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            #expect(try await client.push(request(fixture)).status == 204)
            #expect(try await client.push(request(fixture)).status == 204)
            let pushes = try await fixture.sandbox.received(after: 0)
            #expect(pushes.map(\.provider) == ["webhook", "webhook"] && pushes[0].target == "/hooks/one")
            #expect(pushes[0].problem == nil && pushes[0].body == Self.body)
            #expect(pushes[0].describe().contains("the simulated webhook got a request"))
            #expect(fixture.sandbox.counts.duplicates == 1)
            await client.close()
        }
    }

    @Test func whatIsNotSignedForItIsRefused() async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            let good = try request(fixture)
            let cases: [(TestRequest, Int, String)] = [
                (good.with("webhook-signature", nil), 400, "MissingHeader"),
                (good.with("webhook-id", "msg-2"), 401, "BadSignature"),
                (good.with(body: Self.body + " "), 401, "BadSignature"),
                (good.with(path: "/hooks/two"), 401, "BadSignature"),
                (good.with("webhook-signature", "v1a,xyz"), 401, "BadSignature"),
                (good.with("webhook-timestamp", "soon"), 401, "BadTimestamp"),
                (try request(fixture, age: 301), 401, "BadTimestamp"),
                (try request(fixture, age: -301), 401, "BadTimestamp"),
                (good.with(method: "PUT"), 405, "MethodNotAllowed"),
            ]
            for (request, status, reason) in cases {
                #expect(try await client.push(request).status == status, "\(reason)")
            }
            let reasons = try await fixture.sandbox.received(after: 0).map(\.reason)
            #expect(reasons == cases.map(\.2))
            await client.close()
        }
    }

    @Test(arguments: [
        "[]", "x", #"{"type":"","data":{}}"#, #"{"type":"a","timestamp":"now","data":{}}"#, #"{"type":"a"}"#,
    ])
    func anotherFormIsTold(body: String) async throws {
        try await withSandbox { fixture in
            let client = try await fixture.connect()
            #expect(try await client.push(request(fixture, body: body)).status == 204)
            #expect(try await fixture.sandbox.received(after: 0).first?.problem != nil)
            await client.close()
        }
    }

    @Test func everyProviderHasDevicesAndTheirNamesAreChecked() async throws {
        try await withSandbox { fixture in
            let devices = try fixture.sandbox.devices(named: "one")
            #expect(devices.map(\.provider) == PushSandbox.providers)
            #expect(try fixture.sandbox.devices(named: "one") == devices)
            #expect(try fixture.sandbox.devices(named: "two").map(\.token) != devices.map(\.token))
            for name in ["", "a b", "a/b", String(repeating: "x", count: 61)] {
                #expect(throws: SandboxError.self) { try fixture.sandbox.devices(named: name) }
            }
        }
    }
}
