import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Campaigns at 09:00 in the device's time zone.
@Suite(.database)
struct RecipientTimeTests {
    @Test func eachZoneIsDueWhenItsClocksSaySo() throws {
        let world = try World()
        // On this day clocks go back in New York at 02:00, and the first 01:30 counts.
        for zone in ["Pacific/Kiritimati", "Europe/Madrid", "America/New_York", "Asia/Kolkata", "Pacific/Niue"] {
            try world.devices(at: zone)
        }
        try world.devices(at: nil)
        try world.device(
            String(repeating: "cd", count: 32),
            "time_zone => 'Asia/Tokyo'"
        )
        try world.put(
            campaign: "early",
            schedule: #"{"cron": "30 1 * * *", "time_zone": "recipient", "default_time_zone": "Asia/Tokyo"}"#
        )
        try world.schedule(at: "'2026-10-31 00:00+00'")
        #expect(try world.campaign("early", "next_at AT TIME ZONE 'UTC'") == "2026-10-31 10:30:00")
        try world.schedule(at: "'2026-10-31 10:30+00'")
        try world.plan()
        #expect(
            try world.due() == [
                "2026-10-31 11:30 Pacific/Kiritimati 1", "2026-10-31 16:30 Asia/Tokyo,none 2",
                "2026-10-31 20:00 Asia/Kolkata 1", "2026-11-01 00:30 Europe/Madrid 1",
                "2026-11-01 05:30 America/New_York 1", "2026-11-01 12:30 Pacific/Niue 1",
            ]
        )
        // Deliveries whose time has passed are not delayed.
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches WHERE not_before < due_at") == 0)
    }

    /// If planning is delayed by an outage of some hours, zones that are not due yet lose nothing.
    @Test func whatIsPlannedLateReachesTheZonesToCome() throws {
        let world = try World()
        try world.devices(at: "Pacific/Niue")
        try world.put(campaign: "late", schedule: #"{"cron": "0 0 1 1 *", "time_zone": "recipient"}"#, #""ttl": "2h""#)
        try world.schedule()
        _ = try world.connection.query(
            """
            SELECT fanfare.fire(c, now() - interval '20 hours', wall => (now() AT TIME ZONE 'Pacific/Niue') + interval '1 hour')
            FROM fanfare.campaigns AS c
            """
        )
        try world.connection.execute(
            """
            ALTER TABLE fanfare.outbox DISABLE TRIGGER USER;
            UPDATE fanfare.outbox SET created_at = now() - interval '20 hours';
            UPDATE fanfare.rule_versions SET rule_created_at = now() - interval '1 day'
            """
        )
        try world.plan()
        let waiting =
            "SELECT sum(cardinality(device_ids)) FROM fanfare.batches WHERE not_before > now() + interval '55 minutes'"
        #expect(try world.connection.number(waiting) == 1)
    }

    @Test func whereNothingIsSaidAnAppsPolicySaysWhereDevicesAre() throws {
        let world = try World()
        try world.devices(at: nil)
        try world.connection.execute("SELECT fanfare.put_policy('shop', '{\"time_zone\": \"Asia/Tokyo\"}')")
        try world.put(campaign: "daily", schedule: #"{"at": "2099-01-05T09:00", "time_zone": "recipient"}"#)
        try world.schedule()
        try world.schedule(at: "'2099-01-05 00:00+00'")
        try world.plan()
        #expect(try world.due() == ["2099-01-05 00:00 none 1"])
    }

    @Test func aTopicIsWalkedWithItsZonesToo() throws {
        let world = try World()
        let madrid = try world.devices(at: "Europe/Madrid")
        let tokyo = try world.devices(at: "Asia/Tokyo")
        try world.devices(at: "Asia/Tokyo")
        for device in [madrid, tokyo] {
            _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(device))
        }
        try world.put(
            campaign: "news",
            schedule: #"{"at": "2099-01-05T09:00", "time_zone": "recipient"}"#,
            #""to": {"topic": "news"}"#
        )
        try world.schedule()
        try world.schedule(at: "'2099-01-05 00:00+00'")
        try world.plan()
        #expect(try world.due() == ["2099-01-05 00:00 Asia/Tokyo 1", "2099-01-05 08:00 Europe/Madrid 1"])
    }

    @Test func timeToLiveRunsFromTheZonesOwnTime() throws {
        let world = try World()
        try world.devices(at: "Pacific/Kiritimati")
        try world.devices(at: "Pacific/Niue")
        // It was due in Kiritimati half a day ago, and is not due yet in Niue.
        try world.put(
            campaign: "now",
            schedule: #"{"cron": "0 0 1 1 *", "time_zone": "recipient"}"#,
            #""ttl": "2h""#
        )
        try world.schedule()
        _ = try world.connection.query(
            """
            SELECT fanfare.fire(c, now(), wall => (now() AT TIME ZONE 'Pacific/Kiritimati') - interval '12 hours')
            FROM fanfare.campaigns AS c
            """
        )
        try world.plan()
        let gate = try Int32(world.connection.number("SELECT gate_id FROM fanfare.runs"))
        let claimed = try world.claim(gates: [gate])
        #expect(claimed.count == 1, "the other waits for its time")
        #expect(claimed.first?.dueAt != nil)
        #expect(
            try world.connection.text(
                "SELECT due_at < now() - interval '11 hours' FROM fanfare.batches WHERE owner IS NOT NULL"
            )
                == "t"
        )
        #expect(
            try world.connection.text(
                "SELECT not_before > now() + interval '10 hours' FROM fanfare.batches WHERE owner IS NULL"
            )
                == "t"
        )
    }

    @Test func itsTimeHasPassedWhenItHasInTheLastZone() throws {
        let world = try World()
        let times = try world.connection.column(
            "SELECT to_char(now() AT TIME ZONE 'UTC' - h * interval '1 hour', 'YYYY-MM-DD\"T\"HH24:MI') FROM unnest('{11,13}'::int[]) AS h"
        )
        try world.put(campaign: "today", schedule: #"{"at": "\#(times[0])", "time_zone": "recipient"}"#)
        #expect(throws: PostgresError.self) {
            try world.put(campaign: "yesterday", schedule: #"{"at": "\#(times[1])", "time_zone": "recipient"}"#)
        }
        try world.schedule()
        #expect(try world.runs("today").count == 1, "it goes out at once where its time has passed")
    }

    @Test func startedByHandItGoesToAllAtOnce() throws {
        let world = try World()
        try world.devices(at: "Pacific/Niue")
        try world.put(campaign: "now", schedule: #"{"cron": "0 9 * * *", "time_zone": "recipient"}"#)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'now')")
        try world.plan()
        #expect(try world.connection.text("SELECT due_at IS NULL AND not_before <= now() FROM fanfare.batches") == "t")
    }

    @Test(arguments: [
        (#""to": {"users": "$.user"}"#, #"{"cron": "0 9 * * *", "time_zone": "recipient"}"#, "schedule.time_zone: "),
        (
            #""ttl": "1h""#, #"{"cron": "0 9 * * *", "default_time_zone": "Asia/Tokyo"}"#,
            "schedule.default_time_zone: needs"
        ),
        (
            #""ttl": "1h""#, #"{"cron": "0 9 * * *", "time_zone": "recipient", "default_time_zone": "Nippon"}"#,
            "schedule.default_time_zone: 'Nippon' is not a time zone"
        ),
    ])
    func whatItCannotBeIsRefused(more: String, schedule: String, message: String) throws {
        let error = #expect(throws: PostgresError.self) { try World().put(campaign: "c", schedule: schedule, more) }
        #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }
}

extension World {
    /// Registers a device with a time zone.
    @discardableResult
    fileprivate func devices(at zone: String?) throws -> Int64 {
        try connection.number(
            "SELECT fanfare.register_device('shop', 'apns', encode(sha256(gen_random_uuid()::text::bytea), 'hex'), time_zone => $1)",
            zone
        )
    }

    /// Returns the queued batches: time, zones and number of devices.
    fileprivate func due() throws -> [String] {
        try connection.column(
            """
            SELECT to_char(b.due_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') || ' '
                || string_agg(DISTINCT coalesce(d.time_zone, 'none'), ',') || ' ' || count(*)
            FROM fanfare.batches AS b CROSS JOIN unnest(b.device_ids) AS u (id) JOIN fanfare.devices AS d ON d.id = u.id
            WHERE b.gate_id > 0 AND b.not_before = b.due_at OR b.due_at < now()
            GROUP BY b.due_at ORDER BY b.due_at
            """
        )
    }
}
