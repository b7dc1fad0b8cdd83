import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The times at which campaigns fire, with simulated clocks.
@Suite(.database)
struct CampaignScheduleTests {
    @Test func aWeeklyCampaignFiresOnceEachWeekWhereTheShopIs() throws {
        let world = try World()
        try world.put(
            campaign: "weekly",
            schedule: #"{"cron": "0 9 * * mon", "time_zone": "Europe/Madrid"}"#,
            #""payload": {"sale": "winter"}"#
        )
        try world.schedule(at: "'2026-03-20'")
        #expect(
            try world.campaign("weekly", "state || ' ' || (next_at AT TIME ZONE 'UTC')") == "active 2026-03-23 08:00:00"
        )
        try world.schedule(at: "'2026-03-23 07:59:59+00'")
        #expect(try world.runs("weekly").isEmpty)
        try world.schedule(at: "'2026-03-23 08:00+00'")
        try world.schedule(at: "'2026-03-23 08:00+00'")
        #expect(try world.runs("weekly") == ["2026-03-23 08:00 running"])
        // Daylight saving time began.
        #expect(try world.campaign("weekly", "next_at AT TIME ZONE 'UTC'") == "2026-03-30 07:00:00")
        let event = try world.connection.query("SELECT type, key, payload::text FROM fanfare.outbox").rows
        #expect(
            event == [
                [
                    "campaign.shop.weekly", "2026-03-23T08:00:00+00:00",
                    #"{"sale": "winter", "campaign": "weekly", "scheduled_at": "2026-03-23T08:00:00+00:00"}"#,
                ]
            ]
        )
    }

    @Test(arguments: [
        ("all", ["2026-01-08 09:00 running", "2026-01-09 09:00 running", "2026-01-10 09:00 running"]),
        ("latest", ["2026-01-09 09:00 skipped", "2026-01-10 09:00 running"]),
        ("none", ["2026-01-10 09:00 skipped"]),
    ])
    func whatWasMissedIsCaughtUpAsTheCampaignSays(catchUp: String, expected: [String]) throws {
        let world = try World()
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *", "catch_up": "\#(catchUp)"}"#)
        try world.schedule(at: "'2026-01-07 12:00+00'")
        try world.schedule(at: "'2026-01-10 15:00+00'")
        #expect(try world.runs("daily") == expected)
        #expect(try world.campaign("daily", "next_at AT TIME ZONE 'UTC'") == "2026-01-11 09:00:00")
    }

    @Test func whoForbidsCatchingUpStillForgivesAMinute() throws {
        let world = try World()
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *", "catch_up": "none"}"#)
        try world.schedule(at: "'2026-01-07 12:00+00'")
        try world.schedule(at: "'2026-01-08 09:00:59+00'")
        #expect(try world.runs("daily") == ["2026-01-08 09:00 running"])
    }

    @Test func yearsOfAMinutelyScheduleArePassedOverInSomeTurns() throws {
        let world = try World()
        try world.put(campaign: "often", schedule: #"{"cron": "* * * * *"}"#)
        try world.schedule(at: "'2026-01-01 00:00+00'")
        try world.schedule(at: "'2026-01-03 00:00:30+00'")
        #expect(try world.runs("often").last == "2026-01-03 00:00 running")
        #expect(try world.runs("often").filter { $0.hasSuffix("running") }.count == 1)
        #expect(try world.runs("often").count == 4, "one row for each thousand that were passed over")
    }

    @Test func oneTimeIsFiredLateAndEndsTheCampaign() throws {
        let world = try World()
        try world.put(campaign: "launch", schedule: #"{"at": "2099-12-01T09:00", "time_zone": "America/New_York"}"#)
        try world.schedule()
        #expect(try world.campaign("launch", "next_at AT TIME ZONE 'UTC'") == "2099-12-01 14:00:00")
        try world.schedule(at: "'2099-12-02'")
        #expect(try world.runs("launch") == ["2099-12-01 14:00 running"])
        #expect(try world.campaign("launch", "state") == "ended")
        // Storing the same definition again, as every deployment does, changes nothing.
        #expect(
            try world.put(campaign: "launch", schedule: #"{"at": "2099-12-01T09:00", "time_zone": "America/New_York"}"#)
                == 1
        )
        try world.put(
            campaign: "launch",
            schedule: #"{"at": "2099-12-01T09:00", "time_zone": "America/New_York"}"#,
            #""message": {"notification": {"title": "Better"}}"#
        )
        try world.schedule(at: "'2099-12-03'")
        #expect(try world.campaign("launch", "state") == "ended")
        #expect(try world.runs("launch").count == 1)
    }

    @Test func anEditCountsFromTheNextRunOn() throws {
        let world = try World()
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *"}"#)
        try world.schedule(at: "'2026-01-07 12:00+00'")
        let edited = #""message": {"notification": {"title": "New"}}"#
        #expect(try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *"}"#, edited) == 2)
        // It was due before the edit; that the scheduler runs late changes nothing.
        try world.schedule(at: "'2026-01-08 10:00+00'")
        #expect(try world.runs("daily") == ["2026-01-08 09:00 running"])
        try world.put(campaign: "daily", schedule: #"{"cron": "30 9 * * *"}"#, edited)
        try world.schedule(at: "'2026-01-08 12:00+00'")
        #expect(try world.campaign("daily", "next_at AT TIME ZONE 'UTC'") == "2026-01-09 09:30:00")
        #expect(
            try world.connection.text(
                "SELECT v.definition #>> '{message,notification,title}' FROM fanfare.rule_versions AS v WHERE v.state = 'active' AND v.retired_at IS NULL"
            ) == "New"
        )
    }

    @Test func aBadEditLeavesInForceWhatWas() throws {
        let world = try World()
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *"}"#)
        try world.schedule(at: "'2026-01-07 12:00+00'")
        try world.put(campaign: "daily", schedule: #"{"cron": "0 25 * * *"}"#)
        try world.schedule(at: "'2026-01-08 10:00+00'")
        let reason = try world.campaign("daily", "reason")
        #expect(reason?.hasPrefix("schedule.cron: hour: ") == true, "\(reason ?? "none")")
        #expect(try world.campaign("daily", "state") == "active")
        #expect(try world.runs("daily") == ["2026-01-08 09:00 running"])
        try world.put(campaign: "daily", schedule: #"{"cron": "0 10 * * *"}"#)
        try world.schedule(at: "'2026-01-08 11:00+00'")
        #expect(try world.campaign("daily", "reason") == nil)
        #expect(try world.campaign("daily", "next_at AT TIME ZONE 'UTC'") == "2026-01-09 10:00:00")
    }

    @Test func whatIsNeverDueIsRefused() throws {
        let world = try World()
        // Both conditions must hold, and the first 29 February after 2032 that is a Sunday is in 2060.
        try world.put(campaign: "never", schedule: #"{"cron": "0 0 29 2 */7"}"#)
        try world.schedule(at: "'2033-01-07 12:00+00'")
        #expect(try world.campaign("never", "state") == "refused")
        #expect(try world.campaign("never", "reason") == "schedule.cron: is not due within 8 years")
    }

    @Test func aRefusedRuleFailsTheRun() throws {
        let world = try World()
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *"}"#)
        try world.schedule(at: "'2026-01-07 12:00+00'")
        try world.connection.execute(
            "UPDATE fanfare.rule_versions SET state = 'refused', reason = 'message: too large'"
        )
        try world.schedule(at: "'2026-01-08 10:00+00'")
        #expect(try world.runs("daily") == ["2026-01-08 09:00 failed"])
        #expect(
            try world.connection.text("SELECT detail FROM fanfare.runs")
                == "its rule is refused: message: too large"
        )
        #expect(try world.connection.text("SELECT ok FROM fanfare.health WHERE name = 'campaigns'") == "f")
    }

    /// Two concurrent schedulers with clocks that jump ahead and back; a session is sometimes lost in the middle of a
    /// transaction.
    @Test func twoSchedulersFireEachRunOnce() async throws {
        let minutes = Soak.choose(200, soak: 1000)
        let database = TestDatabase.current
        let world = try World(database)
        try world.put(campaign: "often", schedule: #"{"cron": "* * * * *", "catch_up": "all"}"#)
        try world.schedule(at: "'2026-01-01 00:00+00'")
        let start: Int64 = 1_767_225_600_000_000
        try await withThrowingTaskGroup(of: Void.self) { group in
            for scheduler in 0..<2 {
                group.addTask {
                    try await onThread {
                        var generator = SeededGenerator(seed: UInt64(scheduler + 1))
                        var world = try World(database)
                        var clock = start
                        let end = start + Int64(minutes) * 60_000_000
                        while clock < end {
                            clock += Int64.random(in: -120_000_000...600_000_000, using: &generator)
                            let now = Timestamp(microseconds: min(clock, end))
                            if Int.random(in: 0..<5, using: &generator) == 0 {
                                try world.connection.execute("BEGIN")
                                _ = try world.connection.run(SQL.fireDue(now))
                                // The session ends without a commit.
                                world.connection.close()
                                world = try World(database)
                            }
                            while try !world.connection.run(SQL.fireDue(now)).isEmpty {}
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        while try !world.connection.run(SQL.fireDue(Timestamp(microseconds: start + Int64(minutes) * 60_000_000)))
            .isEmpty
        {}
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.runs") == Int64(minutes))
        #expect(
            try world.connection.number(
                "SELECT count(DISTINCT key) FROM fanfare.outbox WHERE type = 'campaign.shop.often'"
            )
                == Int64(minutes)
        )
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == Int64(minutes))
    }

    /// After a clock that was 3 days ahead is corrected, a campaign fires at its next time that was not
    /// used yet.
    @Test func aClockThatWasSetBackLeavesNoCampaignSilent() throws {
        let world = try World()
        func reschedule(_ at: String) throws -> String? {
            let moved = try world.connection.text("SELECT fanfare.reschedule('\(at)+00')")
            return try "\(moved ?? "") \(world.campaign("hourly", "next_at AT TIME ZONE 'UTC'") ?? "")"
        }
        try world.put(campaign: "hourly", schedule: #"{"cron": "0 * * * *"}"#)
        try world.schedule(at: "'2026-01-07 00:30+00'")
        #expect(try reschedule("2026-01-07 00:30") == "0 2026-01-07 01:00:00")
        try world.schedule(at: "'2026-01-10 00:30+00'")
        #expect(try reschedule("2026-01-10 00:30") == "0 2026-01-10 01:00:00")
        #expect(try reschedule("2026-01-07 00:40") == "1 2026-01-07 01:00:00")
        #expect(try reschedule("2026-01-07 00:40") == "0 2026-01-07 01:00:00")
        // Of its runs on that clock, one was skipped and one was fired.
        try world.connection.execute("UPDATE fanfare.campaigns SET next_at = '2026-01-10 05:00+00'")
        #expect(try reschedule("2026-01-09 22:30") == "1 2026-01-10 01:00:00")
    }

    /// Plans, digests and retries from the time when the clock was ahead continue after the correction; those with a
    /// scheduled time wait for it.
    @Test func aClockThatWasSetBackLeavesNothingWaiting() throws {
        let world = try World()
        try world.device("aa", user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.connection.execute(
            """
            CREATE TEMP TABLE fixed AS SELECT now() AS at, now() + '3 days' AS ahead;
            UPDATE fanfare.batches SET created_at = ahead, not_before = ahead FROM fixed;
            INSERT INTO fanfare.batches (rule_version, target_id, lane, device_ids, event_id,
                created_at, not_before, history, due_at, lease_token, owner)
            SELECT b.rule_version, b.target_id, b.lane, b.device_ids[1:1], 1, n.made, n.made + n.wait, n.history, n.due, n.owner, n.owner
            FROM (SELECT * FROM fanfare.batches LIMIT 1) AS b, fixed, LATERAL (VALUES
                (ahead, interval '1 minute', 1, NULL, NULL),
                (at, '3 days', 0, NULL, NULL),
                (at, '20 minutes', 1, NULL, NULL),
                (ahead, '2 hours', 1 | (32 << 16), NULL, NULL),
                (ahead, '3 hours', 0, ahead + '3 hours', NULL),
                (ahead, '4 hours', 0, NULL, 1)) AS n (made, wait, history, due, owner);
            INSERT INTO fanfare.open_digests (rule_id, key, began_at, due_at, last_at, count, event_ids)
            SELECT 1, 'ahead', ahead, ahead + '10 minutes', ahead + '30 minutes', 1, '{1}'::bigint[] FROM fixed
            UNION ALL SELECT 1, 'before', at - interval '1 minute', at + '9 minutes', NULL, 1, '{1}'::bigint[] FROM fixed;
            INSERT INTO fanfare.audience_queries (event_id, rule_version, created_at, not_before)
            SELECT 1, 1, ahead, ahead + '1 minute' FROM fixed;
            INSERT INTO fanfare.rates (app_id, per_second, next_free) SELECT 1, 100, ahead FROM fixed;
            """
        )
        func waits(_ column: String, of table: String) throws -> String? {
            try world.connection.text(
                """
                SELECT string_agg(round(extract(epoch FROM \(column) - at))::text, ', ' ORDER BY \(column))
                FROM fanfare.\(table), fixed
                """
            )
        }
        for _ in 1...3 {
            try world.connection.execute("SELECT fanfare.reschedule(at) FROM fixed")
            #expect(
                try waits("not_before", of: "batches")
                    == "0, 0, 60, 1200, 266400, 270000, 273600"
            )
            #expect(try waits("due_at", of: "open_digests") == "540, 600")
            #expect(try waits("last_at", of: "open_digests") == "1800")
            #expect(try waits("not_before", of: "audience_queries") == "60")
            #expect(try waits("next_free", of: "rates") == "10")
        }
    }
}
