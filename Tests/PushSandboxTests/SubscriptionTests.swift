import Foundation
import Testing

@testable import PushSandbox

@Suite(.timeLimit(.minutes(5)))
struct SubscriptionTests {
    private static func subscriptions(_ text: String) throws -> [PushSubscription] {
        try text.split(separator: "\n").map { try JSONDecoder().decode(PushSubscription.self, from: Data($0.utf8)) }
    }

    @Test func thousandsAreMadeByNameAndAlwaysTheSame() async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            let body = #"{"name":"load","first":500,"count":1000,"service":"apple"}"#
            let answer = try await control.send("POST", "/subscriptions", body: body)
            #expect(answer.status == 201)
            let made = try Self.subscriptions(answer.text)
            #expect(made.count == 1000)
            #expect(Set(made.map(\.endpoint)).count == 1000)
            #expect(Set(made.map(\.keys.p256dh)).count == 1000)
            #expect(made.first == (try fixture.sandbox.subscription("load-500", service: .apple)))
            #expect(made.first?.endpoint == "https://localhost:\(fixture.sandbox.tlsPort)/apple/load-500")
            #expect(made.allSatisfy { Data(base64URL: $0.keys.p256dh[...])?.count == 65 })
            #expect(made.allSatisfy { Data(base64URL: $0.keys.auth[...])?.count == 16 })
            #expect(try await control.send("POST", "/subscriptions", body: body).text == answer.text)
        }
    }

    @Test func oneIsMadeWithoutBeingNamed() async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            let first = try Self.subscriptions(try await control.send("POST", "/subscriptions").text)
            let second = try Self.subscriptions(try await control.send("POST", "/subscriptions").text)
            #expect((first.count, second.count) == (1, 1))
            #expect(first != second)
            let text = try await control.send("POST", "/subscriptions", body: #"{"application_server_key":null}"#).text
            #expect(text.contains(".open\",\"expirationTime\":null,"))
        }
    }

    @Test(arguments: [
        ("[]", "subscriptions: must be an object"), ("{", "subscriptions: not JSON"),
        (#"{"count":10001}"#, "subscriptions.count: must be an integer from 1 to 10000"),
        (#"{"service":"pigeon"}"#, "subscriptions.service: must be one of rfc, mozilla, fcm, apple, wns"),
        (#"{"name":"a b"}"#, "name: must be"), (#"{"naem":"a"}"#, "subscriptions.naem: is unknown"),
        (#"{"application_server_key":"AAAA"}"#, "application_server_key: must be an uncompressed"),
    ])
    func mistakesAreNamed(body: String, message: String) async throws {
        try await withSandbox { fixture in
            let control = ControlClient(port: fixture.sandbox.controlPort)
            let answer = try await control.send("POST", "/subscriptions", body: body)
            #expect(answer.status == 400)
            #expect(answer.text.hasPrefix(#"{"error":"\#(message)"#), "\(answer.text)")
        }
    }
}
