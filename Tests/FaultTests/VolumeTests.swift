import Foundation
import PostgresClient
import TestKit
import Testing

/// Tests with millions of pushes and no faults.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 120))))
struct SuppressionVolumeTests {
    @Test(arguments: ["at_least_once", "at_most_once"])
    func thereIsOneRequestEach(delivery: String) async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults("[]")
        // With `at_most_once`, attempts are committed before they are sent, which takes longer.
        let deliveries = Soak.deliveries(everyDay: 20_000, soak: 2_000_000) / (delivery == "at_most_once" ? 10 : 1)
        let fault = "none, \(deliveries) deliveries, \(delivery)"
        let devices = min(deliveries, 20_000)
        let audience = try await rig.audience("calm-\(delivery)", devices: devices, #""delivery": "\#(delivery)""#)
        let seconds = try await rig.sendAll(deliveries / devices, to: audience, fault)
        let audit = try await rig.audit(audience, events: deliveries / devices)
        audit.report(fault, "\(Int(Double(deliveries) / seconds)) a second")
        audit.expectNothingLost(fault)
        #expect(audit.duplicates == 0)
        #expect(audit.sent == deliveries && audit.count("accepted") == deliveries)
    }
}

/// Tests of every kind of response at once: which devices are disabled, and which are not.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 120))))
struct MixedAnswerTests {
    @Test func onlyDeadTokensAreDisabledAndAllOfThem() async throws {
        let rig = try Rig.current
        let devices = Soak.deliveries(everyDay: 16_384, soak: 1_000_000)
        let fault = "mixed answers to \(devices) devices"
        let audience = try await rig.audience("mixed", devices: devices)
        try await rig.sandbox.setFaults(MixedAnswer.faults)
        _ = try await rig.sendAll(1, to: audience, fault)
        let dead = MixedAnswer.devices(upTo: devices) { $0.disables }
        let audit = try await rig.audit(audience, events: 1, dead: dead)
        let refused = MixedAnswer.devices(upTo: devices) { !$0.arrives }
        audit.report(
            fault,
            "disabled \(audit.pruned) of \(dead.count) dead, accepted \(audit.count("accepted")), "
                + "others refused \(refused.count - dead.count)"
        )
        audit.expectNothingLost(fault)
        #expect(audit.pruned == dead.count, "each dead one is disabled")
        #expect(audit.count("accepted") == devices - refused.count)
        #expect(audit.sent == devices - refused.count)
        let blown = try await rig.sql { connection in
            try connection.query(
                "SELECT coalesce(string_agg(name || ': ' || detail, '; '), '') FROM fanfare.alarms WHERE name LIKE 'prune_fuse/%'"
            ).rows[0][0]
        }
        #expect(blown == "", "so few dead tokens are believed")
        // A request that was reset without a response is sent once more.
        let reset = MixedAnswer.devices(upTo: devices) { $0.repeats }
        #expect(audit.duplicates == reset.count)
    }
}

extension Soak {
    /// Returns the number of pushes: `FANFARE_FAULT_DELIVERIES`, or the default.
    static func deliveries(everyDay: Int, soak: Int) -> Int {
        ProcessInfo.processInfo.environment["FANFARE_FAULT_DELIVERIES"].flatMap { Int($0) }
            ?? choose(everyDay, soak: soak)
    }
}

extension Rig {
    /// Emits events at once, and waits until everything is sent and recorded, as long as there is progress.
    ///
    /// - Returns: the duration in seconds.
    fileprivate func sendAll(_ events: Int, to audience: Audience, _ fault: String) async throws -> Double {
        let deliveries = events * audience.devices
        let began = monotonicNanoseconds()
        let before = try await sandbox.awaitCounts().received
        try await emit(events, to: audience)
        var received = 0
        var said = 0
        while received < deliveries {
            let now = try await sandbox.awaitCounts(received: before + min(deliveries, received + 50_000), seconds: 300)
            // Retries are counted too, so the loop may end while some first attempts are still to come.
            guard now.received - before > received else { break }
            received = now.received - before
            // The ledger is read while it grows.
            _ = try await ledger(of: audience)
            if received >= said + 250_000 {
                said = received
                report("fault: \(fault): \(received) received")
            }
        }
        // Daily runs do not wait the minute that some responses ask for.
        if !Soak.isOn { try await untilIdleHurrying(seconds: 120) }
        try await untilIdle(seconds: 5400)
        return Double(monotonicNanoseconds() - began) / 1e9
    }

    private func untilIdleHurrying(seconds: Int) async throws {
        try await until(
            """
            WITH asked AS (UPDATE fanfare.batches SET not_before = clock_timestamp() WHERE not_before > clock_timestamp() + interval '5 s')
            SELECT NOT EXISTS (SELECT FROM fanfare.batches) AND NOT EXISTS (SELECT FROM fanfare.outbox)
            """,
            seconds: seconds
        )
    }
}
