import FanfareCore
import PostgresClient
import PushCrypto
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// With `log.deliveries: all`, the log has the same entry for each attempt as the database.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct DeliveryLogTests {
    /// Configures few streams, so that a broadcast takes some time, and no second attempt.
    private static func change(_ configuration: inout Configuration) {
        configuration.log.deliveries = .all
        configuration.retry.attempts = 1
        configuration.send.threads = 1
        configuration.send.connections = 1
        configuration.send.streams = 10
    }

    /// By default, the log has a few of many similar failures, and their number.
    @Test func manyLikeFailuresAreAFewLinesAndTheirNumber() async throws {
        // Fewer than the prune fuse always allows.
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
            try await flow.until(gone, seconds: 180)
        }
        let told = try lines.map { try JSONValue(parsing: $0) }
        let written = told.count { $0["msg"] == "push not accepted" && $0["reason"] == "Unregistered" }
        let left = told.filter { $0["msg"] == "more of these lines were suppressed" && $0["reason"] == "Unregistered" }
        #expect(left.allSatisfy { $0["log.like"] == "push not accepted" && $0["rule.name"] == "many" })
        let counts = left.compactMap { $0["count"]?.numberValue?.integer }
        #expect(written > 0 && !counts.isEmpty)
        #expect(Int64(written) + counts.reduce(0, +) == Int64(count))
    }

    @Test func eventsOfWhichNothingIsSentHaveALine() async throws {
        let lines = try await Flow.run { flow in
            try await flow.sql { world in
                try world.rule("known", event: "known", to: #"{"users": "$.u"}"#)
                try world.emit("flash.ofer", "{}")
                for _ in 0..<2 { try world.emit("known", #"{"u": "nobody"}"#, key: "k") }
                try world.connection.execute("INSERT INTO fanfare.outbox (type, payload) VALUES ('known', '[]')")
            }
            try await flow.until("SELECT count(*) = 4 FROM fanfare.event_log")
        }
        let told = try lines.map { try JSONValue(parsing: $0) }.filter { $0["msg"] == "nothing is sent of an event" }
        let fates = told.map {
            "\($0["level"]?.stringValue ?? "") \($0["event.type"]?.stringValue ?? "") \($0["event.fate"]?.stringValue ?? "")"
        }
        #expect(fates.sorted() == ["info flash.ofer unmatched", "info known duplicate", "warning known refused"])
        #expect(told.allSatisfy { $0["event.id"]?.numberValue != nil })
        #expect(told.contains { $0["detail"] == "the payload is not a JSON object" })
        #expect(try lines.map { try JSONValue(parsing: $0) }.contains { $0["outcome"] != nil } == false)
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
        var users: Set<String> = []
        for line in lines {
            let json = try JSONValue(parsing: line)
            guard let outcome = json["outcome"]?.stringValue, let reason = json["reason"]?.stringValue else { continue }
            let attempt = ["event.id", "device.id", "attempt"].map { json[$0]?.text ?? "none" }
            let name = attempt.joined(separator: " ")
            #expect(logged[name] == nil, "\(name) has two lines")
            logged[name] = ("\(outcome) \(reason)", json["msg"]?.stringValue ?? "none")
            users.insert(json["user.hash"]?.stringValue ?? "none")
        }
        #expect(users == [shortHash("few"), shortHash("many")])
        let told = Set(logged.map { "\($0.key) \($0.value.outcome)" })
        let rows = recorded.withLock { $0 }
        #expect(told == rows)
        var messages: [String: Set<String>] = [:]
        for line in logged.values { messages[line.outcome, default: []].insert(line.message) }
        #expect(messages["accepted accepted", default: []] == ["push accepted"])
        #expect(messages["gone Unregistered", default: []] == ["push not accepted"])
        #expect(messages["exhausted attempts_used_up", default: []] == ["push not accepted"])
        for own in ["cancelled cancel_requested", "refused not_renderable"] {
            #expect(messages[own, default: []] == ["push decided by Fanfare"], "\(own)")
        }
    }
}
