import Foundation
import PostgresClient
import TestKit
import Testing

/// Tests of pruning: only on a provider's evidence about the token.
@Suite(.rig, .serialized, .timeLimit(.minutes(5)))
struct TokenFaultTests {
    struct Verdict: Sendable, CustomTestStringConvertible {
        let name: String
        let field: String
        let prunes: Bool

        var testDescription: String { name }
    }

    static let verdicts = [
        Verdict(name: "an older timestamp", field: #", "timestamp_age_ms": 3600000"#, prunes: false),
        Verdict(name: "a newer timestamp", field: "", prunes: true),
        Verdict(name: "no timestamp", field: #", "timestamp_ms": null"#, prunes: true),
    ]

    @Test(arguments: verdicts) func deadTokensAreDisabledByTheTimestamp(verdict: Verdict) async throws {
        let rig = try Rig.current
        let fault = "410 with \(verdict.name)"
        let audience = try await rig.audience("gone-\(rig.random(0...1_000_000))", devices: 20)
        try await rig.sandbox.setFaults(gone(audience, verdict.field))
        try await rig.emit(1, to: audience)
        // If the device may have registered again, it is retried after a minute; the test shortens that time.
        try await rig.until(
            """
            WITH asked AS (UPDATE fanfare.batches SET not_before = clock_timestamp() WHERE not_before > clock_timestamp() + interval '20 s')
            SELECT NOT EXISTS (SELECT FROM fanfare.batches) AND NOT EXISTS (SELECT FROM fanfare.outbox)
            """,
            seconds: 30
        )
        let audit = try await rig.audit(audience, events: 1, dead: verdict.prunes ? Set(1...audience.devices) : [])
        audit.report(fault, "disabled \(try await rig.disabled(audience).count) of 20")
        #expect(audit.wronglyPruned.isEmpty)
        #expect(audit.unrecorded.isEmpty && audit.unexpected.isEmpty)
        #expect(try await rig.disabled(audience).count == (verdict.prunes ? 20 : 0))
    }

    @Test func aNewRegistrationWinsTheRaceAgainstA410() async throws {
        let rig = try Rig.current
        let fault = "410 racing a new registration"
        let audience = try await rig.audience("race", devices: 40)
        let again = Set(1...20)
        // Registered after the time in the response, and before the response arrives.
        try await rig.hold(seconds: 1)
        let spoken = Int(Date().timeIntervalSince1970 * 1000)
        try await rig.sandbox.setFaults(
            #"[{"do": "slow", "ms": 1500}, {"match": {"token": "^\#(audience.prefix)"}, "do": "status", "status": 410, "reason": "Unregistered", "timestamp_ms": \#(spoken), "total": 40}]"#
        )
        let before = try await rig.sandbox.awaitCounts().received
        try await rig.emit(1, to: audience)
        _ = try await rig.sandbox.awaitCounts(received: before + 1)
        try await rig.sql { connection in
            for device in again {
                _ = try connection.query(
                    "SELECT fanfare.register_device($1, 'apns', $2)",
                    Rig.app,
                    audience.token(of: device)
                )
            }
        }
        try await rig.until(
            """
            SELECT count(*) = 40 FROM fanfare.deliveries WHERE rule = '\(audience.name)' AND outcome NOT IN ('pending', 'attempted') AND attempt = 1
            """,
            seconds: 30
        )
        try await rig.sandbox.setFaults("[]")
        try await rig.sql { try $0.execute("UPDATE fanfare.batches SET not_before = clock_timestamp()") }
        try await rig.untilIdle()
        let kept = Set(1...audience.devices).subtracting(try await rig.disabled(audience))
        // A device that registered again while the old response was on its way gets the next event.
        try await rig.sql { try Traffic.emit(2, to: audience, on: $0) }
        try await rig.untilIdle()
        let reached = Set(try await rig.ledger(of: audience).filter { $0.fate == .accepted }.map(\.delivery.device))
        report(
            "fault: \(fault): 40 answers, 20 registered again meanwhile, disabled \(40 - kept.count), then reached \(reached.count)"
        )
        #expect(kept == again)
        #expect(reached == again)
    }

    /// The last test of the suite, because the fuse stays blown.
    @Test func thePruneFuseHolds() async throws {
        let rig = try Rig.current
        let fault = "30 % BadDeviceToken"
        let audience = try await rig.audience("fuse", devices: Soak.choose(5000, soak: 30_000))
        try await rig.sandbox.setFaults(
            #"[{"match": {"token": "^\#(audience.prefix)", "share": 0.3}, "do": "status", "reason": "BadDeviceToken"}]"#
        )
        try await rig.emit(1, to: audience)
        try await rig.untilIdle(seconds: 240)
        try await rig.until(
            "SELECT EXISTS (SELECT FROM fanfare.health WHERE name LIKE 'alarm: prune_fuse/%' AND NOT ok)",
            seconds: 20
        )
        let refused = Set(
            try await rig.ledger(of: audience).filter { $0.fate == .rejected(400) }.map(\.delivery.device)
        )
        let audit = try await rig.audit(audience, events: 1, dead: refused)
        let pruned = try await rig.disabled(audience).count
        let alarms = try await rig.sql { connection in
            try connection.query("SELECT string_agg(name, ' ') FROM fanfare.alarms").rows[0][0] ?? ""
        }
        audit.report(fault, "\(refused.count) tokens refused, disabled \(pruned) before the fuse blew: \(alarms)")
        #expect(audit.wronglyPruned.isEmpty)
        #expect(audit.unrecorded.isEmpty && audit.recordedTwice.isEmpty && audit.unexpected.isEmpty)
        // The number of devices that all daemons together may prune regardless of the share.
        #expect(pruned <= 100, "the fuse holds")
        #expect(pruned < refused.count)
        #expect(audit.count("accepted") == audience.devices - refused.count)
    }

    private func gone(_ audience: Audience, _ field: String) -> String {
        #"[{"match": {"token": "^\#(audience.prefix)"}, "do": "status", "status": 410, "reason": "Unregistered"\#(field)}]"#
    }
}
