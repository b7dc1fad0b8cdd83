import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The scope of a provider's refusal: one sender, one topic or one connection, and no other.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(3)))
struct RefusalTests {
    @Test(arguments: [
        #""do": "status", "reason": "BadEnvironmentKeyIdInToken""#,
        #""do": "status", "reason": "InvalidProviderToken""#,
        // APNs closes the connection instead of answering, and has processed nothing.
        #""do": "goaway", "debug": {"reason": "BadCertificateEnvironment"}"#,
    ])
    func aRefusedSenderLosesNothing(fault: String) async throws {
        let log = try await Flow.run { flow in
            try await flow.sandbox.setFaults(#"[{"match": {"token": "^ad"}, \#(fault)}]"#)
            try await flow.emitRefused(users: 1...40, tokens: "ad")
            try await flow.isTold("refused: shop/apns/production")
            try await flow.isTold("breaker: shop/apns/production")
            try await flow.reachesAnotherProvider()
            try await flow.recoversWithoutLoss()
        }
        #expect(log.contains { $0.contains("refuses this") })
    }

    @Test func aTopicThatIsRefusedStopsNoOther() async throws {
        let log = try await Flow.run { flow in
            try await flow.sandbox.setFaults(
                #"[{"match": {"token": "^ae"}, "do": "status", "reason": "TopicDisallowed"}]"#
            )
            try await flow.emitRefused(
                users: 1...40,
                tokens: "ae",
                #""message": {"notification": {"title": "T"}, "apns": {"headers": {"apns-push-type": "voip", "apns-topic": "com.example.demo.voip"}}}"#
            )
            try await flow.isTold("refused: shop/apns/production com.example.demo.voip")
            try await flow.sql { world in
                try world.device("af01", user: "right")
                try world.rule("right", event: "right", to: #"{"users": "$.user"}"#)
                try world.emit("right", #"{"user": "right"}"#)
            }
            try await flow.until(
                "SELECT count(*) = 1 FROM fanfare.deliveries WHERE event_type = 'right' AND outcome = 'accepted'"
            )
            try await flow.recoversWithoutLoss()
        }
        #expect(log.contains { $0.contains("the provider refuses this configuration") })
        #expect(!log.contains { $0.contains("a provider fails") }, "everybody was stopped for one topic")
    }

    /// The push first waits as if the sender were refused; other accepted pushes show that it is not.
    @Test func aPushThatIsRefusedForItsOwnSakeStopsNobodyForGood() async throws {
        try await Flow.run { flow in
            try await flow.sandbox.setFaults(#"[{"match": {"token": "^ad"}, "do": "status", "reason": "Forbidden"}]"#)
            try await flow.emitRefused(users: 1...1, tokens: "ad")
            try await flow.isTold("refused: shop/apns/production")
            try await flow.sql { world in
                for n in 0..<4 { try world.device("af0\(n)", user: "fine") }
                try world.rule("fine", event: "fine", to: #"{"users": "$.user"}"#)
            }
            let over = "SELECT count(*) > 0 FROM fanfare.deliveries WHERE outcome = 'rejected' AND reason = 'Forbidden'"
            for round in 1...10 {
                let isOver = try await flow.sql { world in
                    guard try world.connection.column(over) == ["f"] else { return true }
                    try world.emit("fine", #"{"user": "fine"}"#)
                    return false
                }
                if isOver { break }
                try await flow.until(
                    """
                    SELECT count(*) = \(4 * round) FROM fanfare.deliveries WHERE event_type = 'fine' AND outcome = 'accepted'
                    """
                )
            }
            try await flow.until(over)
        }
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
        #expect(log.contains { $0.contains("unrecognized provider response") && $0.contains("BrandNewRule") })
        #expect(log.contains { $0.contains("INVALID_ARGUMENT message.android.ttl") })
        #expect(!log.contains { $0.contains("secret") })
    }
}

extension Flow {
    /// Emits an event `refused` to the iPhones of the given users.
    fileprivate func emitRefused(users: ClosedRange<Int>, tokens: String, _ message: String = "") async throws {
        try await sql { world in
            for user in users { try world.device("\(tokens)\(user + 1000)", user: "refused-\(user)") }
            try world.rule("refused", event: "refused", to: #"{"users": "$.users"}"#, message)
            let names = users.map { #""refused-\#($0)""# }.joined(separator: ", ")
            try world.emit("refused", #"{"users": [\#(names)]}"#)
        }
    }

    /// Waits until a row of `fanfare.health` reports a problem.
    fileprivate func isTold(_ row: String) async throws {
        try await until("SELECT EXISTS (SELECT FROM fanfare.health WHERE name = '\(row)' AND NOT ok)")
    }

    /// Checks that the provider accepts the refused pushes again: all 40 are sent, each recorded once.
    fileprivate func recoversWithoutLoss() async throws {
        let recorded = "FROM fanfare.deliveries WHERE event_type = 'refused' AND outcome"
        let before = try await sql { try $0.connection.number("SELECT count(*) \(recorded) <> 'pending'") }
        #expect(before == 0)
        try await sandbox.setFaults("[]")
        try await until("SELECT count(*) = 40 \(recorded) = 'accepted'", seconds: 180)
        let others = try await sql { try $0.connection.number("SELECT count(*) \(recorded) <> 'accepted'") }
        #expect(others == 0)
        try await until("SELECT NOT EXISTS (SELECT FROM fanfare.health WHERE starts_with(name, 'refused: '))")
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
