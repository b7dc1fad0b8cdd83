import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareStore

/// How many pushes of an event were accepted, and what devices reported of them.
@Suite(.database)
struct FunnelTests {
    private static let everyone = #"{"everyone": true}"#
    private static let halves = #""report": true, "variants": [{"name": "a"}, {"name": "b"}]"#

    /// Stores an event's batch of one to many devices, as a daemon of version 1 does.
    private func log(_ event: Int64, _ version: Int64, devices: String, code: String, on world: World) throws {
        try world.connection.execute(
            """
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, event_id, created_at, first_device, last_device, rule_version,
                device_ids, outcomes)
            SELECT fanfare.ring_day(b.id), 1, 1, 1, b.id, \(event), now(), min(d), max(d), \(version), array_agg(d ORDER BY d),
                string_agg(set_byte('\\x00'::bytea, 0, \(code)), ''::bytea ORDER BY d)
            FROM (\(devices)) AS x (d), (SELECT fanfare.new_batch_id() AS id OFFSET 0) AS b GROUP BY b.id
            """
        )
    }

    private func funnel(_ event: Int64, on world: World) throws -> [String] {
        try world.connection.column(
            """
            SELECT concat_ws(' ', rule, coalesce(variant, '-'), coalesce(accepted::text, '-'), received, opened)
            FROM fanfare.funnel(\(event))
            """
        )
    }

    @Test func countsBatchesOfTheLogAndThoseInFlight() throws {
        let world = try World()
        try world.devices(9)
        let version = try world.rule("all", event: "all", to: Self.everyone, #""report": true"#)
        let event = try world.emit("all")
        #expect(try funnel(event, on: world) == [])
        try log(
            event,
            version,
            devices: "SELECT id FROM fanfare.devices WHERE id < 5",
            code: "CASE WHEN d = 2 THEN 200 WHEN d = 3 THEN 92 ELSE 1 END",
            on: world
        )
        #expect(try funnel(event, on: world) == ["all - 2 0 0"])
        try world.connection.execute(
            """
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids, outcomes)
            VALUES (\(event), \(version), 1, 1, '{5,6}', '\\x0100'), (\(event), \(version), 1, 1, '{7}', '')
            """
        )
        #expect(try funnel(event, on: world) == ["all - 3 0 0"])
        try world.report(2, of: 1, event: event)
        try world.foldReports()
        #expect(try funnel(event, on: world) == ["all - 3 0 1"])
    }

    @Test func eventsThatShareABatchHaveTheirOwnCounts() throws {
        let world = try World()
        let devices = try (0..<4).map { try world.device("ab\($0)0", user: "u\($0)") }
        try world.rule("chat", event: "chat", to: #"{"users": "$.u"}"#, Self.halves)
        try world.rule("silent", event: "chat", to: #"{"users": "$.u"}"#)
        let events = try (0..<8).map { try world.emit("chat", #"{"u": "u\#($0 % 4)"}"#) }
        try world.plan()
        try world.answer("CASE WHEN d = \(devices[1]) THEN 72 ELSE 1 END")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batch_log WHERE event_id IS NULL") > 0)
        let group = try world.connection.text(
            "SELECT fanfare.variant_of(definition::jsonb, 'u0', 1) FROM fanfare.rule_versions WHERE id = 1"
        )
        #expect(try funnel(events[0], on: world) == ["chat \(group ?? "") 1 0 0"])
        #expect(try funnel(events[1], on: world) == [])
    }

    @Test func aDividedRuleIsCountedByVariantUpTo5000Deliveries() throws {
        let world = try World()
        try world.devices(40)
        let version = try world.rule("ab", event: "all", to: Self.everyone, Self.halves)
        let event = try world.emit("all")
        // The log has the event's type, by which variants() finds its rules.
        try world.plan()
        try world.connection.execute("DELETE FROM fanfare.batches")
        let all = "SELECT id FROM fanfare.devices"
        try log(event, version, devices: all, code: "CASE WHEN d < 9 THEN 72 ELSE 1 END", on: world)
        let counted = try world.connection.column(
            """
            SELECT concat_ws(' ', rule, variant, count, 0, 0) FROM fanfare.variants(\(event)) WHERE outcome = 'accepted' ORDER BY variant
            """
        )
        #expect(try funnel(event, on: world) == counted && counted.count == 2)
        try log(event, version, devices: "SELECT * FROM generate_series(100, 5100)", code: "1", on: world)
        #expect(try funnel(event, on: world) == ["ab - 5033 0 0"])
    }

    /// Counts of gates outlive the log.
    @Test func aRunIsCountedByItsGatesOnceItsLogIsDeleted() throws {
        let world = try World()
        try world.devices(2)
        _ = try world.connection.query("SELECT fanfare.put_policy('shop', '{\"report\": true}')")
        try world.put(campaign: "sale")
        try world.schedule()
        try world.connection.execute("SELECT fanfare.start_campaign('shop', 'sale')")
        try world.plan()
        try world.slice()
        let event = try world.connection.number("SELECT event_id FROM fanfare.runs")
        let version = try world.connection.number("SELECT max(id) FROM fanfare.rule_versions")
        try world.connection.execute("DELETE FROM fanfare.batches")
        try log(event, version, devices: "SELECT id FROM fanfare.devices", code: "1", on: world)
        #expect(try funnel(event, on: world) == ["campaign/sale - 2 0 0"])
        try world.connection.execute(
            """
            INSERT INTO fanfare.gate_stats SELECT gate_id, 1, 7 FROM fanfare.runs;
            INSERT INTO fanfare.report_counts VALUES (\(event), \(version), 0, 2, 1)
            """
        )
        #expect(try funnel(event, on: world) == ["campaign/sale - 7 0 1"])
        // A second version of the rule, as the winner of an experiment has it.
        try world.put(campaign: "sale", #""ttl": "1d""#)
        try world.schedule()
        let second = try world.connection.number("SELECT max(id) FROM fanfare.rule_versions")
        #expect(second > version)
        try log(event, second, devices: "SELECT id + 100 FROM fanfare.devices", code: "1", on: world)
        #expect(try funnel(event, on: world) == ["campaign/sale - 7 0 1"])
        try world.connection.execute("INSERT INTO fanfare.report_counts VALUES (\(event), \(second), 0, 2, 0)")
        try log(event, second, devices: "SELECT * FROM generate_series(200, 209)", code: "1", on: world)
        #expect(try funnel(event, on: world) == ["campaign/sale - 14 0 1"])
        try world.connection.execute("DELETE FROM fanfare.batch_log")
        #expect(try funnel(event, on: world) == ["campaign/sale - 7 0 1"])
        try world.connection.execute("UPDATE fanfare.runs SET event_id = 9")
        #expect(try funnel(event, on: world) == ["campaign/sale - - 0 1"])
    }

    @Test func aClosingBatchStoresHowManyWereAccepted() throws {
        let world = try World()
        try world.devices(3)
        let version = try world.rule("all", event: "all", to: Self.everyone, #""report": true"#)
        let event = try world.emit("all")
        try world.connection.execute(
            """
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids)
            SELECT \(event), \(version), min(target_id), 1, array_agg(id ORDER BY id) FROM fanfare.devices
            """
        )
        let claimed = try #require(try world.claim().first)
        let record = BatchRecord(id: claimed.id, leaseToken: 1, outcomes: [1, 72, 1])
        _ = try world.connection.run(CloseBatches(owner: 1, batches: [record], retries: [], tallies: []))
        #expect(try funnel(event, on: world) == ["all - 2 0 0"])
        // A batch with reports is counted once, and its count kept.
        let device = try world.connection.number("SELECT min(id) FROM fanfare.devices")
        try world.report(2, of: device, event: event)
        try world.foldReports()
        #expect(try world.connection.column("SELECT accepted FROM fanfare.report_log") == ["2"])
        #expect(try funnel(event, on: world) == ["all - 2 0 1"])
    }
}
