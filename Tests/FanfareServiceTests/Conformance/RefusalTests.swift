import TestKit
import Testing

@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages

/// What a provider's refusal of the sender, of a topic or of a connection costs: that one, and nobody else.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(3)))
struct RefusalTests {
    private static let rejected = """
        FROM fanfare.deliveries WHERE event_type = 'refused' AND outcome = 'rejected'
        """

    @Test func aRefusedSenderLosesOnePushForEachProbe() async throws {
        try await Flow.run { flow in
            try await flow.sandbox.setFaults(
                #"[{"match": {"token": "^ad"}, "do": "status", "reason": "BadEnvironmentKeyIdInToken"}]"#
            )
            try await flow.emitRefused(users: 1...40, tokens: "ad")
            // The second is the probe after five seconds, and is refused as well: the next comes after ten more.
            try await flow.until("SELECT count(*) >= 2 \(Self.rejected)")
            try await flow.until(
                "SELECT EXISTS (SELECT FROM fanfare.health WHERE name = 'breaker: shop/apns/production' AND NOT ok)"
            )
            try await flow.reachesAnotherProvider()
            let lost = try await flow.sql { try $0.connection.number("SELECT count(*) \(Self.rejected)") }
            // What both connections had warmed up with, and the probe.
            #expect((2...3).contains(lost), "\(lost) of 40 pushes were lost")
        }
    }

    /// APNs ends the connection instead of answering, and has processed nothing: nothing has to be lost.
    @Test func aSenderThatIsRefusedByGoawayIsStoppedAndLosesNothing() async throws {
        let log = try await Flow.run { flow in
            try await flow.sandbox.setFaults(
                #"[{"match": {"token": "^a9"}, "do": "goaway", "debug": {"reason": "BadCertificateEnvironment"}}]"#
            )
            try await flow.emitRefused(users: 1...40, tokens: "a9")
            // What both connections had warmed up with, and the probe after five seconds.
            try await flow.until(
                """
                SELECT count(*) >= 3 FROM fanfare.deliveries
                WHERE event_type = 'refused' AND outcome = 'retrying' AND reason = 'not_processed'
                """,
                seconds: 40
            )
            try await flow.reachesAnotherProvider()
            let asked = try await flow.received(by: "a9").count
            #expect((3...4).contains(asked), "\(asked) of 40 pushes were tried")
            try await flow.sandbox.setFaults("[]")
            try await flow.until(
                "SELECT count(*) = 40 FROM fanfare.deliveries WHERE event_type = 'refused' AND outcome = 'accepted'",
                seconds: 60
            )
            let lost = try await flow.sql { try $0.connection.number("SELECT count(*) \(Self.rejected)") }
            #expect(lost == 0)
        }
        let told = log.filter { $0.contains("the provider refuses this configuration") }
        #expect(!told.isEmpty && told.allSatisfy { $0.contains("BadCertificateEnvironment") }, "\(told)")
    }

    @Test func aTopicThatIsRefusedStopsNoOther() async throws {
        let log = try await Flow.run { flow in
            try await flow.sandbox.setFaults(
                #"[{"match": {"token": "^ae"}, "do": "status", "reason": "TopicDisallowed"}]"#
            )
            try await flow.emitRefused(
                users: 1...40,
                tokens: "ae",
                #""message": {"notification": {"title": "T"}, "apns": {"headers": {"apns-topic": "com.example.wrong"}}}"#
            )
            try await flow.until("SELECT count(*) >= 1 \(Self.rejected)")
            try await flow.sql { world in
                try world.device("af01", user: "right")
                try world.rule("right", event: "right", to: #"{"users": "$.user"}"#)
                try world.emit("right", #"{"user": "right"}"#)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.deliveries WHERE event_type = 'right' AND outcome = 'accepted'"
            )
            let lost = try await flow.sql { try $0.connection.number("SELECT count(*) \(Self.rejected)") }
            #expect((1...3).contains(lost), "\(lost) of 40 pushes were lost")
        }
        #expect(log.contains { $0.contains("the provider refuses this configuration") })
        #expect(!log.contains { $0.contains("a provider fails") }, "everybody was stopped for one topic")
    }

    @Test(arguments: ["UnrelatedKeyIdInToken", "ExpiredProviderToken", "IdleTimeout", "Shutdown"])
    func whatAsksForAnotherConnectionGetsOne(reason: String) async throws {
        try await Flow.run { flow in
            try await flow.conform(to: [ConformanceCase(.apns, "warm", does: "", ["accepted/accepted"])])
            try await flow.sandbox.setFaults(
                #"[{"match": {"token": "^ac"}, "do": "status", "reason": "\#(reason)", "times": 1}]"#
            )
            try await flow.sql { world in
                try world.device("ac01", user: "again")
                try world.emit("conformance", #"{"users": ["again"]}"#)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.deliveries WHERE user_id = 'again' AND outcome = 'accepted'"
            )
            // The cases share the simulated provider.
            let connections = try await flow.received(by: "ac01").suffix(2).map(\.connection)
            #expect(connections.count == 2 && connections.first != connections.last)
        }
    }

    @Test func theProvidersOwnWordsAreLogged() async throws {
        let log = try await Flow.run { flow in
            try await flow.conform(to: [
                ConformanceCase(
                    .apns,
                    "new",
                    #""status": 400, "body": "{\"reason\": \"BrandNewRule\"}""#,
                    "rejected/status_4xx"
                ),
                ConformanceCase(
                    .fcm,
                    "field",
                    #""status": 400, "body": "{\"error\": {\"status\": \"INVALID_ARGUMENT\", \"message\": \"no\", \"details\": [{\"@type\": \"type.googleapis.com/google.rpc.BadRequest\", \"fieldViolations\": [{\"field\": \"message.android.ttl\", \"description\": \"secret\"}]}]}}""#,
                    "rejected/INVALID_ARGUMENT"
                ),
            ])
        }
        #expect(log.contains { $0.contains("an answer is in no table") && $0.contains("BrandNewRule") })
        #expect(log.contains { $0.contains("INVALID_ARGUMENT message.android.ttl") })
        #expect(!log.contains { $0.contains("secret") })
    }
}

extension Flow {
    /// Emits an event `refused` to iPhones of that many users.
    fileprivate func emitRefused(users: ClosedRange<Int>, tokens: String, _ message: String = "") async throws {
        try await sql { world in
            for user in users { try world.device("\(tokens)\(user + 1000)", user: "refused-\(user)") }
            try world.rule("refused", event: "refused", to: #"{"users": "$.users"}"#, message)
            let names = users.map { #""refused-\#($0)""# }.joined(separator: ", ")
            try world.emit("refused", #"{"users": [\#(names)]}"#)
        }
    }

    /// Sends a push through another provider, and waits until it is recorded.
    fileprivate func reachesAnotherProvider() async throws {
        try await sql { world in
            try world.register(android: "another", user: "another")
            try world.rule("another", event: "another", to: #"{"users": "$.user"}"#)
            try world.emit("another", #"{"user": "another"}"#)
        }
        try await until(
            "SELECT count(*) = 1 FROM fanfare.deliveries WHERE event_type = 'another' AND outcome = 'accepted'"
        )
    }
}
