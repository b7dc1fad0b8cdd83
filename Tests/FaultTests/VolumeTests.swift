import Foundation
import PostgresClient
import TestKit
import Testing

/// Millions of pushes while nothing goes wrong.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 120))))
struct SuppressionVolumeTests {
    @Test(arguments: ["at_least_once", "at_most_once"])
    func thereIsOneRequestEach(delivery: String) async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults("[]")
        // What is sent at most once is committed before, and takes longer.
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

/// Every kind of answer at once: who is disabled, and who is not.
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
        // One that was reset, without an answer, is sent once more.
        let reset = MixedAnswer.devices(upTo: devices) { $0.repeats }
        #expect(audit.duplicates == reset.count)
    }
}

extension Soak {
    /// How many pushes there are: `FANFARE_FAULT_DELIVERIES`, or what is given.
    static func deliveries(everyDay: Int, soak: Int) -> Int {
        ProcessInfo.processInfo.environment["FANFARE_FAULT_DELIVERIES"].flatMap { Int($0) }
            ?? choose(everyDay, soak: soak)
    }
}

extension Rig {
    /// Emits events at once, and waits until all is sent and recorded, however long that takes while it goes on.
    ///
    /// - Returns: how many seconds that took.
    fileprivate func sendAll(_ events: Int, to audience: Audience, _ fault: String) async throws -> Double {
        let deliveries = events * audience.devices
        let began = monotonicNanoseconds()
        let before = try await sandbox.awaitCounts().received
        try await emit(events, to: audience)
        var received = 0
        var said = 0
        while received < deliveries {
            let now = try await sandbox.awaitCounts(received: before + min(deliveries, received + 50_000), seconds: 300)
            // What was retried comes on top, so that this may end while some are still to come.
            guard now.received - before > received else { break }
            received = now.received - before
            // Read as it comes.
            _ = try await ledger(of: audience)
            if received >= said + 250_000 {
                said = received
                report("fault: \(fault): \(received) received")
            }
        }
        // Every day nobody waits the minute that some answers ask for.
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
