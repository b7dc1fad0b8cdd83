import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareService
@testable import FanfareStages

/// With `log.deliveries: all` the log has of each attempt what the database has of it, whoever decided that.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct DeliveryLogTests {
    /// Few streams, so that a broadcast takes a while, and no second attempt.
    private static func change(_ configuration: inout Configuration) {
        configuration.log.deliveries = .all
        configuration.retry.attempts = 1
        configuration.send.threads = 1
        configuration.send.connections = 1
        configuration.send.streams = 10
    }

    /// By default: of failures that are like each other a few, and how many there were.
    @Test func manyLikeFailuresAreAFewLinesAndTheirNumber() async throws {
        // Fewer than what the prune fuse always lets through.
        let count = 200
        let lines = try await Flow.run { flow in
            try await flow.sql { world in
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns', 'e411' || lpad(to_hex(g), 60, '0'), 'many')
                    FROM generate_series(1, \(count)) AS g;
                    UPDATE fanfare.devices SET registered_at = now() - interval '1 day';
                    """
                )
                try world.rule("many", event: "many", to: #"{"users": "$.u"}"#)
                try world.emit("many", #"{"u": "many"}"#)
            }
            let gone = "SELECT count(*) = \(count) FROM fanfare.deliveries WHERE outcome = 'gone'"
            try await flow.until(gone, seconds: 60)
        }
        let told = try lines.map { try JSONValue(parsing: $0) }
        let written = told.count { $0["msg"] == "push not accepted" && $0["reason"] == "Unregistered" }
        let left = told.filter { $0["msg"] == "more of these lines were left out" && $0["reason"] == "Unregistered" }
        #expect(left.allSatisfy { $0["log.like"] == "push not accepted" && $0["rule.name"] == "many" })
        let counts = left.compactMap { $0["count"]?.numberValue?.integer }
        #expect(written > 0 && !counts.isEmpty)
        #expect(Int64(written) + counts.reduce(0, +) == Int64(count))
    }

    @Test func everyRecordedOutcomeHasALine() async throws {
        let recorded = Locked<Set<String>>([])
        let lines = try await Flow.run(Self.change) { flow in
            let broadcast = try await flow.sql { world in
                for token in ["a610", "e50061", "e41061"] { try world.device(token, user: "few") }
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns', 'ef00' || lpad(to_hex(g), 60, '0'), 'many')
                    FROM generate_series(1, 1200) AS g
                    """
                )
                try world.rule("sent", event: "sent", to: #"{"users": "$.u"}"#)
                let nameless = #""message": {"notification": {"title": "Order {{order}}"}}"#
                try world.rule("nameless", event: "nameless", to: #"{"users": "$.u"}"#, nameless)
                try world.rule("header", event: "header", to: #"{"users": "$.u"}"#, #""collapse": "{{id}}""#)
                for type in ["sent", "nameless", "header"] {
                    try world.emit(type, #"{"u": "few", "id": "a\r\napns-topic: evil"}"#)
                }
                return try world.emit("sent", #"{"u": "many"}"#)
            }
            _ = try await flow.pushes(30, to: "ef00")
            try await flow.sql { world in
                _ = try world.connection.text("SELECT fanfare.cancel($1::bigint)", "\(broadcast)")
            }
            try await flow.untilIdle()
            let rows = try await flow.sql { world in
                try world.connection.column(
                    "SELECT concat_ws(' ', event_id, device_id, attempt, outcome, reason) FROM fanfare.deliveries"
                )
            }
            recorded.withLock { $0 = Set(rows) }
        }
        var logged: [String: (outcome: String, message: String)] = [:]
        for line in lines {
            let json = try JSONValue(parsing: line)
            guard let outcome = json["outcome"]?.stringValue, let reason = json["reason"]?.stringValue else { continue }
            let attempt = ["event.id", "device.id", "attempt"].map { json[$0]?.text ?? "none" }
            // A later line of the same attempt says what became of it after its answer.
            logged[attempt.joined(separator: " ")] = ("\(outcome) \(reason)", json["msg"]?.stringValue ?? "none")
        }
        let told = Set(logged.map { "\($0.key) \($0.value.outcome)" })
        let rows = recorded.withLock { $0 }
        #expect(told == rows)
        var messages: [String: Set<String>] = [:]
        for line in logged.values { messages[line.outcome, default: []].insert(line.message) }
        #expect(messages["accepted accepted", default: []] == ["push accepted"])
        #expect(messages["gone Unregistered", default: []] == ["push not accepted"])
        for own in ["cancelled cancel_requested", "exhausted attempts_used_up", "refused not_renderable"] {
            #expect(messages[own, default: []] == ["push decided by Fanfare"], "\(own)")
        }
    }
}
