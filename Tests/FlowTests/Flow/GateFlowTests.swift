import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A daemon whose gates are closed while it is sending.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct GateFlowTests {
    /// Sending is slow: ten concurrent requests of 60 ms.
    private static let slow = { @Sendable (configuration: inout Configuration) in
        configuration.send.threads = 1
        configuration.send.connections = 1
        configuration.send.streams = 10
        configuration.send.batch = 40
    }
    private static let count = 400

    /// Emits an event to many slow devices behind a gate, and waits until some have received it.
    ///
    /// - Parameters:
    ///   - prefix: the start of their tokens.
    ///   - more: further members of the rule.
    /// - Returns: the event and its gate.
    private func begin(_ flow: Flow, _ prefix: String, _ more: String = "") async throws -> (event: Int64, gate: Int32)
    {
        let begun = try await flow.sql { world in
            try world.connection.execute(
                """
                SELECT fanfare.register_device('shop', 'apns', '\(prefix)' || lpad(to_hex(n), 6, '0'), 'everyone')
                FROM generate_series(1, \(Self.count)) AS n
                """
            )
            try world.device("aa99", user: "one")
            try world.rule("gated", event: "e", to: #"{"users": "$.u"}"#, #""lane": "bulk"\#(more)"#)
            try world.rule("free", event: "f", to: #"{"users": "$.u"}"#)
            let gate = try world.gate("gated", lane: 2)
            return (try world.emit("e", #"{"u": "everyone"}"#), gate)
        }
        #expect(try await flow.pushes(30, to: prefix).count >= 30)
        return begun
    }

    /// Waits until the daemon has released the batches behind the gate, and has sent another push since.
    ///
    /// - Returns: the tokens of all pushes so far.
    private func sentWhenQuiet(_ flow: Flow, _ prefix: String, _ gate: Int32) async throws -> [String] {
        try await flow.until(
            "SELECT NOT EXISTS (SELECT FROM fanfare.batches WHERE gate_id = \(gate) AND owner IS NOT NULL)"
        )
        let sent = try await flow.received(by: prefix).map(\.token)
        let other = try await flow.sql { try $0.emit("f", #"{"u": "one"}"#) }
        try await flow.until(
            "SELECT EXISTS (SELECT FROM fanfare.deliveries WHERE event_id = \(other) AND outcome = 'accepted')"
        )
        #expect(try await flow.received(by: prefix).count == sent.count, "nothing is sent behind a closed gate")
        return sent
    }

    @Test(arguments: ["", #", "delivery": "at_most_once""#])
    func whatIsPausedIsSentOnceItIsResumed(more: String) async throws {
        try await Flow.run(Self.slow) { flow in
            let prefix = more.isEmpty ? "ef0001" : "ef0002"
            let (event, gate) = try await begin(flow, prefix, more)
            #expect(try await flow.sql { try $0.setGates("gated", "pause") })
            let sent = try await sentWhenQuiet(flow, prefix, gate)
            #expect(sent.count < Self.count)
            let waiting = "SELECT sum(waiting) || ' ' || sum(ready) FROM fanfare.queue WHERE gate = 'paused'"
            #expect(try await flow.sql { try $0.connection.text(waiting) } != nil)
            #expect(try await flow.sql { try $0.setGates("gated", "resume") })
            try await flow.untilIdle()
            let all = try await flow.received(by: prefix).map(\.token)
            #expect(all.count == Self.count && Set(all).count == Self.count, "each of them once")
            #expect(try await flow.sql { Set(try $0.outcomes(event)) } == ["accepted/accepted"])
        }
    }

    @Test func whatIsAbortedIsRecordedAsCancelled() async throws {
        try await Flow.run(Self.slow) { flow in
            let prefix = "ef0003"
            let (event, gate) = try await begin(flow, prefix)
            #expect(try await flow.sql { try $0.setGates("gated", "abort", why: "a typing error") })
            try await flow.until("SELECT state = 'open' FROM fanfare.gates WHERE id = \(gate)")
            let sent = try await flow.received(by: prefix).count
            let outcomes = try await flow.sql { try $0.outcomes(event) }
            #expect(outcomes.count == Self.count, "every recipient has one")
            #expect(outcomes.count { $0 == "accepted/accepted" } == sent)
            #expect(outcomes.count { $0 == "cancelled/campaign_aborted" } == Self.count - sent)
            let counted = "SELECT sum(deliveries) FROM fanfare.stats_pending WHERE gate_id = \(gate)"
            #expect(try await flow.sql { try $0.connection.number(counted) } == Int64(Self.count))
            try await flow.untilIdle()
        }
    }

    /// A paused gate does not delay other gates, and two gates share their queue's room.
    @Test func othersGoOnWhileOneIsPaused() async throws {
        try await Flow.run(Self.slow) { flow in
            try await flow.sql { world in
                for n in 1...9 { try world.device("aa810\(n)", user: "few") }
                try world.rule("other", event: "o", to: #"{"users": "$.u"}"#, #""lane": "bulk""#)
            }
            let (_, gate) = try await begin(flow, "ef0004")
            #expect(try await flow.sql { try $0.setGates("gated", "pause") })
            let event = try await flow.sql { world in
                try world.gate("other", lane: 2)
                return try world.emit("o", #"{"u": "few"}"#)
            }
            try await flow.until(
                "SELECT count(*) = 9 FROM fanfare.deliveries WHERE event_id = \(event) AND outcome = 'accepted'"
            )
            #expect(try await flow.sql { try $0.outcomes(event) } == Array(repeating: "accepted/accepted", count: 9))
            #expect(try await sentWhenQuiet(flow, "ef0004", gate).count < Self.count)
        }
    }
}
