import Foundation
import PostgresClient
import PrivateCluster
import TestKit
import Testing
import Threading

/// Devices report each push three times over two connections while daemons are killed and PostgreSQL restarts.
@Suite(.rig, .serialized, .timeLimit(.minutes(Soak.choose(5, soak: 30))))
struct ReportFaultTests {
    /// How many devices report in one statement.
    private static let portion = 50

    @Test func eachReportCountsOnce() async throws {
        let rig = try Rig.current
        try await rig.sandbox.setFaults("[]")
        let devices = Soak.deliveries(everyDay: 2_000, soak: 100_000) / 1000 * 1000
        let audience = try await rig.audience("reporting", devices: devices)
        let event = try await rig.sql { connection in
            try connection.query("SELECT fanfare.emit('\(audience.name)', '{\"n\": \"1\"}')::text").rows[0][0] ?? ""
        }
        try await rig.untilIdle(seconds: 120)
        async let faults: Int = playFaults(rig, rounds: Soak.choose(2, soak: 20))
        async let first: Void = send(event, devices, "1", on: rig)
        async let second: Void = send(event, devices, "2", on: rig)
        let kills = try await faults
        _ = try await (first, second)
        try await rig.until("SELECT NOT EXISTS (SELECT FROM fanfare.reports_pending)", seconds: 120)
        let counted = try await rig.sql { connection in
            try connection.query(
                """
                SELECT (SELECT string_agg(kind || ':' || devices, ' ' ORDER BY kind) FROM fanfare.report_counts WHERE event_id = \(event)),
                    (SELECT sum(bit_count(received)) || ' ' || sum(bit_count(opened)) FROM fanfare.report_log)
                """
            ).rows[0].map { $0 ?? "" }
        }
        report(
            "fault: \(devices) devices reported 2 kinds 6 times each, \(kills) kills, \(kills / 2) restarts: counted \(counted[0])"
        )
        #expect(counted == ["0:\(devices) 2:\(devices)", "\(devices) \(devices)"])
    }

    /// Kills a daemon every three seconds, and restarts PostgreSQL after every second kill; returns the number of kills.
    private func playFaults(_ rig: Rig, rounds: Int) async throws -> Int {
        for round in 1...rounds {
            try await rig.hold(seconds: 3)
            await rig.end(rig.daemons[rig.random(0...rig.daemons.count - 1)], by: SIGKILL)
            if round % 2 == 0 { try await onThread { try rig.cluster.restart(.immediate) } }
            try await rig.serve(3)
        }
        return rounds
    }

    /// Reports each device's two kinds three times, and repeats a statement that failed, as a client does.
    private func send(_ event: String, _ devices: Int, _ name: String, on rig: Rig) async throws {
        let url = rig.cluster.connectionURL(database: rig.databaseName)
        try await onThread("reports \(name)") {
            var session = PatientSession(url: url)
            for round in 0..<3 {
                for offset in stride(from: 0, to: devices, by: Self.portion) {
                    _ = try session.run { _ in
                        """
                        WITH devices AS (
                            SELECT u.id FROM (
                                SELECT unnest(l.device_ids) AS id FROM fanfare.batch_log AS l WHERE l.event_id = \(event)
                                UNION SELECT unnest(q.device_ids) FROM fanfare.batches AS q WHERE q.event_id = \(event)
                            ) AS u ORDER BY u.id OFFSET \((offset + round * Self.portion) % devices) LIMIT \(Self.portion)
                        ), sent AS (
                            SELECT '\(Rig.app)' AS app, d.id, k.kind, decode(translate(split_part(fanfare.report_key(d.id), '.', 2), '-_', '+/') || '==', 'base64') AS key,
                                decode(translate(fanfare.report_handle(\(event), (SELECT max(rule_version) FROM fanfare.batch_log WHERE event_id = \(event))), '-_', '+/'), 'base64') AS handle
                            FROM devices AS d CROSS JOIN (VALUES (0::smallint), (2::smallint)) AS k (kind)
                        )
                        SELECT (fanfare.take_reports(array_agg(app), array_agg(id), array_agg(key), array_agg(''::text), array_agg(handle), array_agg(kind),
                            array_agg(''::text), array_agg(now()), array_agg(''::text))).taken::text FROM sent
                        """
                    }
                }
            }
        }
    }
}
