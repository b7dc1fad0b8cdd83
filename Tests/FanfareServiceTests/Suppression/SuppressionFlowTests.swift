import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Suppressions through a daemon, to the simulated providers.
@Suite(.flowSandbox, .database, .serialized, .timeLimit(.minutes(5)))
struct SuppressionFlowTests {
    /// Sending is slow: ten concurrent requests of 60 ms, so that a batch takes six seconds.
    private static let slow = { @Sendable (configuration: inout Configuration) in
        configuration.send.threads = 1
        configuration.send.connections = 1
        configuration.send.streams = 10
    }
    private static let count = 1500

    /// The current time by the clock of received requests, in nanoseconds.
    private static var now: Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    @Test(arguments: ["", #", "delivery": "at_most_once""#])
    func whoOptsOutOfABroadcastUnderWayGetsNothingASecondLater(more: String) async throws {
        let prefix = more.isEmpty ? "ef0008" : "ef0009"
        try await Flow.run(Self.slow) { flow in
            let event = try await flow.sql { world in
                try world.connection.execute(
                    """
                    SELECT fanfare.register_device('shop', 'apns', '\(prefix)' || lpad(to_hex(n), 6, '0'), 'u' || n)
                    FROM generate_series(1, \(Self.count)) AS n
                    """
                )
                try world.rule(
                    "sale",
                    event: "sale",
                    to: #"{"everyone": true}"#,
                    #""category": "c", "lane": "bulk"\#(more)"#
                )
                return try world.emit("sale")
            }
            #expect(try await flow.pushes(30, to: prefix).count >= 30)
            try await flow.sql { world in
                try world.connection.execute(
                    "SELECT count(fanfare.set_preference('shop', user_id, 'c', true)) FROM fanfare.devices"
                )
            }
            let committed = Self.now
            try await flow.untilIdle()
            let pushes = try await flow.received(by: prefix)
            #expect(Set(pushes.map(\.token)).count == pushes.count, "nothing is sent twice")
            let last = try #require(pushes.map(\.nanoseconds).max())
            // One second is promised; this machine may be busy.
            #expect(Double(last - committed) / 1e9 < 2)
            let outcomes = """
                SELECT string_agg(DISTINCT outcome, ' ' ORDER BY outcome) || ' ' || count(*)
                FROM fanfare.deliveries WHERE event_id = \(event)
                """
            #expect(try await flow.sql { try $0.connection.text(outcomes) } == "accepted opted_out \(Self.count)")
        }
    }

    /// Also for a single event, which one thread otherwise plans and sends.
    @Test func whatIsHeldIsSentOnceWhenItsTimeHasCome() async throws {
        try await Flow.run { flow in
            let begun = Self.now
            let event = try await flow.sql { world in
                try world.device("aa77", user: "ann")
                let far = try world.connection.text(
                    "SELECT to_char(now() AT TIME ZONE 'UTC' + interval '6 h', 'HH24:MI')"
                )
                let end = try world.connection.text(
                    "SELECT to_char(now() AT TIME ZONE 'UTC' + interval '7 h', 'HH24:MI')"
                )
                let quiet = #""quiet_hours": {"from": "\#(far ?? "")", "until": "\#(end ?? "")"}, "category": "c""#
                try world.rule("sale", event: "sale", to: #"{"users": "$.u"}"#, quiet)
                try world.connection.execute("SELECT fanfare.snooze('shop', 'ann', clock_timestamp() + interval '3 s')")
                return try world.emit("sale", #"{"u": "ann"}"#)
            }
            let pushes = try await flow.pushes(1, to: "aa77")
            #expect(pushes.count == 1 && pushes.allSatisfy { Double($0.nanoseconds - begun) / 1e9 >= 3 })
            try await flow.untilIdle()
            let attempts = """
                SELECT string_agg(attempt || ' ' || reason, ', ' ORDER BY attempt) FROM fanfare.deliveries WHERE event_id = \(event)
                """
            #expect(try await flow.sql { try $0.connection.text(attempts) } == "1 user_snoozed, 2 accepted")
        }
    }

    /// If the answer arrives after the time of the grant, the cap's period starts with the answer.
    @Test func aDaemonSettlesWhatItClosed() async throws {
        try await Flow.run { flow in
            try await flow.sandbox.setFaults(#"[{"do": "slow", "ms": 1500}]"#)
            try await flow.sql { world in
                try world.put(policy: #"{"caps": {"one": {"max": 1, "per": "1h"}}}"#)
                try world.device("ef0021", user: "ann")
                try world.rule("one", event: "one", to: #"{"everyone": true}"#, #""caps": ["one"]"#)
                try world.emit("one")
            }
            #expect(try await flow.pushes(1, to: "ef0021").count == 1)
            try await flow.sql { world in
                try world.connection.waitUntil(
                    "SELECT EXISTS (SELECT FROM fanfare.cap_grants WHERE ctid <> '(0,1)')"
                )
            }
        }
    }
}
