import FanfareCore
import Foundation
import PostgresClient
import PushTransport
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// A provider, or one of many push services, that cannot be connected to: pushes wait in their batches, as if they had
/// never been attempted.
@Suite(.database, .serialized, .timeLimit(.minutes(5)))
struct UnreachableTests {
    /// Runs a daemon while its providers are unreachable.
    ///
    /// - Parameters:
    ///   - change: changes the configuration.
    ///   - body: the test; its argument makes the providers reachable again.
    private func away(
        _ change: @escaping (inout Configuration) -> Void = { _ in },
        _ body: (Flow, () async throws -> SandboxProcess) async throws -> Void
    ) async throws -> [String] {
        let directory = NSTemporaryDirectory() + "fanfare-away-" + UUID().uuidString.prefix(13).lowercased()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let gone = try await SandboxProcess.start(directory: directory)
        await gone.stop()
        return try await FlowSandboxTrait.$sandbox.withValue(gone) {
            try await Flow.run(change) { flow in
                try await body(flow) {
                    let port = ["--port", "\(gone.ready.tlsPort)"]
                    return try await SandboxProcess.start(directory: directory, arguments: port)
                }
            }
        }
    }

    private static let isKnown = "SELECT EXISTS (SELECT FROM fanfare.health WHERE name LIKE 'breaker: %' AND NOT ok)"
    private static let outcomes = """
        SELECT attempt || ' ' || outcome || ' ' || count(*) FROM fanfare.deliveries GROUP BY attempt, outcome ORDER BY 1
        """

    private func emit(_ devices: Int, in flow: Flow) async throws {
        try await flow.sql { world in
            try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
            try world.devices(devices, user: "u")
            try world.emit("e", #"{"u": "u"}"#)
        }
    }

    @Test func whatCannotBeSentIsNotTriedAndGoesWhenTheProviderIsBack() async throws {
        let log = try await away { flow, comeBack in
            try await emit(3000, in: flow)
            try await flow.until(Self.isKnown)
            #expect(try await flow.sql { try $0.connection.column(Self.outcomes) } == ["1 pending 3000"])
            let provider = try await comeBack()
            let all = "SELECT count(*) = 3000 FROM fanfare.deliveries WHERE outcome = 'accepted'"
            try await flow.until(all, seconds: 240)
            #expect(try await flow.sql { try $0.connection.column(Self.outcomes) } == ["1 accepted 3000"])
            #expect(try await provider.awaitCounts().received == 3000)
            try await flow.until("SELECT NOT EXISTS (SELECT FROM fanfare.health WHERE name LIKE 'breaker: %')")
            await provider.stop()
        }
        let told = log.filter { $0.contains("a provider could not be reached") }
        #expect((1...20).contains(told.count), "once by each thread and wording, not once a second: \(told)")
    }

    @Test func whatWaitsIsStillCancelledAndEndsInTime() async throws {
        _ = try await away { flow, _ in
            try await emit(5, in: flow)
            try await flow.until(Self.isKnown)
            let (late, cancelled) = try await flow.sql { world in
                let late = try world.emit("e", #"{"u": "u"}"#, ttl: "2 s")
                let cancelled = try world.emit("e", #"{"u": "u"}"#)
                try world.connection.waitUntil("SELECT count(DISTINCT event_id) = 3 FROM fanfare.deliveries")
                _ = try world.connection.query("SELECT fanfare.cancel($1::bigint)", "\(cancelled)")
                return (late, cancelled)
            }
            for (event, outcome) in [(late, "expired"), (cancelled, "cancelled")] {
                try await flow.until(
                    """
                    SELECT array_agg(DISTINCT attempt || ' ' || outcome) = '{1 \(outcome)}' AND count(*) = 5
                    FROM fanfare.deliveries WHERE event_id = \(event)
                    """
                )
            }
        }
    }

    /// Tokens, devices and rules are read when the push is sent, even after a long wait.
    @Test func whatWaitsForLongIsReadAnew() async throws {
        _ = try await away { flow, comeBack in
            try await emit(2, in: flow)
            try await flow.until(Self.isKnown)
            try await flow.sql { world in
                let token = try world.connection.text("SELECT token FROM fanfare.devices ORDER BY id LIMIT 1")
                _ = try world.connection.query("SELECT fanfare.unregister_device('shop', 'apns', $1)", token)
            }
            let isNoticed = "SELECT EXISTS (SELECT FROM fanfare.deliveries WHERE outcome = 'disabled')"
            try await flow.until(isNoticed, seconds: 180)
            let provider = try await comeBack()
            try await flow.until("SELECT EXISTS (SELECT FROM fanfare.deliveries WHERE outcome = 'accepted')")
            #expect(try await flow.sql { try $0.connection.column(Self.outcomes) } == ["1 accepted 1", "1 disabled 1"])
            await provider.stop()
        }
    }

    @Test func aDaemonThatEndsGivesItBackUntouched() async throws {
        let database = TestDatabase.current
        _ = try await away { flow, _ in
            try await emit(3000, in: flow)
            try await flow.until(Self.isKnown)
        }
        let rows = try await onThread {
            try World(database).connection.query(
                """
                SELECT bool_and(owner IS NULL AND attempt = 1 AND not_before <= now() AND btrim(outcomes, '\\x00') = ''),
                    sum(cardinality(device_ids)), (SELECT count(*) FROM fanfare.batch_log) FROM fanfare.batches
                """
            ).rows
        }
        #expect(rows == [["t", "3000", "0"]])
    }

    /// More pushes than a sender can hold wait for one service; other services are still reached.
    @Test func aPushServiceThatCannotBeReachedStopsNoOther() async throws {
        let log = try await away { configuration in
            configuration.send.batch = 20
            configuration.apps["shop"]?.webPush?.allowedHosts = ["localhost", "127.0.0.1"]
        } _: { flow, comeBack in
            let provider = try await comeBack()
            let browser = try await provider.subscription("alive")
            try await flow.sql { world in
                try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
                try world.register(browser, user: "alive")
                _ = try world.connection.query(
                    """
                    SELECT fanfare.register_device('shop', 'webpush', 'https://127.0.0.1:1/' || n, 'dead', p256dh => $1, auth => $2)
                    FROM generate_series(1, 600) AS n
                    """,
                    browser.keys.p256dh,
                    browser.keys.auth
                )
                try world.emit("e", #"{"u": "dead"}"#)
            }
            try await flow.until(Self.isKnown)
            for number in 1...5 {
                _ = try await flow.sql { try $0.emit("e", #"{"u": "alive"}"#) }
                try await flow.until(
                    "SELECT count(*) = \(number) FROM fanfare.deliveries WHERE user_id = 'alive' AND outcome = 'accepted'"
                )
            }
            let outcomes = try await flow.sql { try $0.connection.column(Self.outcomes) }
            #expect(outcomes == ["1 accepted 5", "1 pending 600"])
            await provider.stop()
        }
        let told = log.filter { $0.contains("a provider fails; only probes are sent") }
        #expect(told.count == 1 && told[0].contains(#""endpoint":"127.0.0.1:1""#), "\(told)")
    }
}
