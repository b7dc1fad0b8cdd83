import FanfareCore
import PayloadFixtures
import TestKit
import Testing

@testable import DaemonKit

/// Messages as applications send them, as rule messages through the whole daemon: the received JSON is the same.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct FixtureFlowTests {
    /// 64-bit integers, and numbers that a binary fraction cannot hold; kept exactly by every provider.
    private static let numbers = #"""
        {"most": 9223372036854775807, "least": -9223372036854775808, "beyond": 18446744073709551615, "tenth": 0.1,
         "one": 1.0, "thousand": 1e3, "list": [0, -0.5]}
        """#

    @Test func payloadsOfAPNsArriveUnchanged() async throws {
        let numbers = #"{"aps": {"alert": "numbers", "badge": 0}, "numbers": \#(Self.numbers)}"#
        let fixtures = APNsFixtures.payloads + [(name: "numbers", text: numbers)]
        try await Flow.run { flow in
            try await flow.sql { world in
                for (index, fixture) in fixtures.enumerated() {
                    try world.device("f1\(10 + index)", user: fixture.name)
                    try world.send(#"{"apns": {"payload": \#(fixture.text)}}"#, as: fixture.name)
                }
            }
            let pushes = try await flow.pushes(fixtures.count, to: "f1")
            for (index, fixture) in fixtures.enumerated() {
                let push = try #require(pushes.first { $0.token == "f1\(10 + index)" }, "\(fixture.name)")
                #expect(push.status == 200, "\(fixture.name): \(push.reason ?? "")")
                #expect(try push.json() == JSONValue(parsing: fixture.text), "\(fixture.name)")
            }
            #expect(pushes.contains { $0.body?.contains("9223372036854775807") ?? false }, "to the last digit")
        }
    }

    @Test func requestsToFCMArriveUnchanged() async throws {
        let numbers = #"""
            {"message": {"token": "f2-numbers", "apns": {"payload": {"aps": {"badge": 1}, "numbers": \#(Self.numbers)}}}}
            """#
        let fixtures = FCMFixtures.requests + [(name: "numbers", text: numbers)]
        let requests = try fixtures.map { (name: $0.name, request: try JSONValue(parsing: $0.text)) }
        try await Flow.run { flow in
            try await flow.sql { world in
                for (name, request) in requests { try world.send(fcm: request, as: name) }
            }
            try await flow.untilIdle()
            let outcomes = try await flow.sql { world in
                try world.connection.column("SELECT rule || ' ' || outcome FROM fanfare.deliveries ORDER BY rule")
            }
            #expect(outcomes == requests.map { "\($0.name) accepted" }.sorted())
            let arrived = try await flow.sandbox.received().filter { $0.provider == "fcm" }.map { try $0.json() }
            #expect(arrived.count == requests.count)
            for (name, given) in requests {
                // The recipient comes from the rule.
                var message = try #require(given["message"]?.objectValue)
                if message["token"] != nil { message["token"] = .string("f2-\(name)") }
                let request: JSONValue = ["message": .object(message)]
                #expect(arrived.filter { $0 == request }.count == 1, "\(name)")
            }
        }
    }

    @Test func notificationsOfWebPushArriveUnchanged() async throws {
        try await Flow.run { flow in
            let browser = try await flow.sandbox.subscription("fixture")
            try await flow.sql { world in
                try world.register(browser, user: "numbers")
                let message = #"{"webpush": {"notification": {"title": "T", "data": \#(Self.numbers)}}}"#
                try world.send(message, as: "numbers")
            }
            try await flow.until("SELECT count(*) = 1 FROM fanfare.deliveries WHERE outcome = 'accepted'")
            let push = try #require(try await flow.sandbox.received().last { $0.provider == "webpush" })
            #expect(try push.json("notification", "data") == JSONValue(parsing: Self.numbers))
        }
    }
}

extension World {
    /// Puts a rule into force whose audience is the user named like the rule, and emits its event.
    fileprivate func send(_ message: String, as name: String, to audience: String = #"{"users": "$.user"}"#) throws {
        try rule(name, event: "fixture.\(name)", to: audience, #""message": \#(message)"#)
        try emit("fixture.\(name)", #"{"user": "\#(name)"}"#)
    }

    /// Sends a request in FCM's form: its topic or condition becomes the audience, otherwise a device is registered.
    fileprivate func send(fcm request: JSONValue, as name: String) throws {
        var message = try #require(request["message"]?.objectValue)
        var audience: JSONValue = ["users": "$.user", "provider": "fcm"]
        if message["token"] != nil { try register(android: "f2-\(name)", user: name) }
        if let topic = message["topic"] { audience = ["fcm_topic": topic] }
        if let condition = message["condition"] { audience = ["fcm_condition": condition] }
        for key in ["token", "topic", "condition"] { message[key] = nil }
        try send(JSONValue.object(message).text, as: name, to: audience.text)
    }
}

extension JSONValue {
    fileprivate var text: String { String(decoding: encoded, as: UTF8.self) }
}
