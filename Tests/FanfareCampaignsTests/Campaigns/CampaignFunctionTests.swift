import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The campaign functions of SQL, and their errors.
@Suite(.database)
struct CampaignFunctionTests {
    @Test(arguments: [
        (#""schedule": {"at": "2020-12-01T09:00"}"#, "schedule.at: 2020-12-01T09:00 has passed"),
        (#""schedule": {"at": "2099-02-31T09:00"}"#, "schedule.at: is not a time of day"),
        (#""schedule": {"at": "tomorrow"}"#, "schedule.at: is not a time of day"),
        (#""schedule": {"cron": "* * * * *", "at": "2099-12-01T09:00"}"#, "schedule: has at and cron"),
        (#""schedule": {"time_zone": "Europe/Madrid"}"#, "schedule: has neither at nor cron"),
        (#""schedule": {"cron": 5}"#, "schedule.cron: is not a string"),
        (#""schedule": "0 9 * * *""#, "schedule: is not an object"),
        (
            #""schedule": {"cron": "* * * * *", "time_zone": "UTC+3"}"#,
            "schedule.time_zone: 'UTC+3' is not a time zone that this server knows"
        ),
        (
            #""schedule": {"cron": "* * * * *", "time_zone": "Mars/Base"}"#,
            "schedule.time_zone: 'Mars/Base' is not a time zone that this server knows"
        ),
        (
            #""schedule": {"cron": "* * * * *", "catch_up": "some"}"#,
            "schedule.catch_up: 'some' is not one of its values"
        ),
        (#""schedule": {"cron": "* * * * *", "every": "1h"}"#, "schedule.every: unknown key"),
        (#""payload": [1]"#, "payload: is not an object"),
        (#""to": {"users_sql": "SELECT 1"}"#, "to.users_sql: is not for campaigns"),
        (#""to": {"tokens": "$.token"}"#, "to.tokens: is not for campaigns"),
        (#""audience_sql": "SELECT 1""#, "to.everyone: is beside audience_sql, which says who"),
        (#""to": {}, "audience_sql": 1"#, "audience_sql: is not a string"),
        (#""payload_sql": "SELECT '{}'", "audience_sql": "SELECT 1""#, "payload_sql: is beside audience_sql"),
        (#""payload_sql": "SELECT '{}'", "to": {"fcm_topic": "t"}"#, "payload_sql: cannot be with to.fcm_topic"),
        (
            #""payload_sql": "SELECT '{}'", "schedule": {"cron": "* * * * *", "time_zone": "recipient"}"#,
            "schedule.time_zone: cannot be recipient with payload_sql"
        ),
        (#""to": {"staged": true}"#, "to.staged: unknown key"),
        (#""payload_sql": "SELECT '{}'", "canary": {"share": "1%"}"#, "canary: cannot be with payload_sql"),
        (#""to": {}, "audience_sql": "SELECT 1, '{}', 2""#, "audience_sql: has more than two columns"),
        (#""to": {}, "audience_sql": "SELECT 1, 2""#, "audience_sql: cannot cast type integer to jsonb"),
        (
            #""to": {}, "audience_sql": "SELECT u FROM public.nowhere""#,
            "audience_sql: relation \"public.nowhere\" does not exist"
        ),
        (
            #""to": {}, "audience_sql": "DELETE FROM fanfare.apps RETURNING name""#,
            "audience_sql: writes, but it must only read"
        ),
        (#""to": {}, "audience_sql": "SELECT $1""#, "audience_sql: there is no parameter $1"),
        (#""payload_sql": "SELECT '{}', 1""#, "payload_sql: has more than one column"),
        (#""payload_sql": "SELECT 1""#, "payload_sql: cannot cast type integer to jsonb"),
        (#""to": {"users": "$["}"#, "to.users: "),
        (#""when": "$.a == 1""#, "when: unknown key"),
        (#""app": "no app""#, "app: cannot be a name"),
    ])
    func whatCannotBeIsRefusedWithItsPlace(member: String, message: String) throws {
        let world = try World()
        var members = [
            #""app": "shop""#, #""name": "c""#, #""to": {"everyone": true}"#, #""message": {"data": {"a": "b"}}"#,
        ]
        // If a key occurs twice, the last one counts.
        members.append(member)
        let error = try #require(throws: PostgresError.self) {
            _ = try world.connection.query(
                "SELECT fanfare.put_campaign($1::jsonb)",
                "{\(members.joined(separator: ", "))}"
            )
        }
        #expect(error.sqlState == "22023")
        #expect(error.message.hasPrefix(message), "\(error.message)")
        #expect(error.hint?.isEmpty == false)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.campaigns") == 0)
    }

    @Test func startedByHandItRunsOnceAtATime() throws {
        let world = try World()
        try world.device(String(repeating: "ab", count: 32), user: "ann")
        try world.put(campaign: "hello", #""payload": {"sale": "winter", "price": 1}"#)
        let early = #expect(throws: PostgresError.self) { try world.start("hello") }
        #expect(early?.message == "campaign hello is not checked yet")
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'hello', '{\"price\": 2}')")
        #expect(
            try world.connection.text("SELECT payload - 'scheduled_at' FROM fanfare.outbox")
                == #"{"sale": "winter", "price": 2, "campaign": "hello"}"#
        )
        let again = #expect(throws: PostgresError.self) { try world.start("hello") }
        #expect(again?.sqlState == "55000")
        #expect(again?.message.hasPrefix("campaign hello is running since ") == true)
        let list = #expect(throws: PostgresError.self) {
            _ = try world.connection.query("SELECT fanfare.start_campaign('shop', 'hello', '[]')")
        }
        #expect(list?.message == "payload: is not an object")
        let unknown = #expect(throws: PostgresError.self) { try world.start("helo") }
        #expect(unknown?.message == "app shop has no campaign helo")
    }

    @Test func pausedItFiresNothingAndResumedItMissedNothing() throws {
        let world = try World()
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *", "catch_up": "all"}"#)
        try world.schedule(at: "now()")
        #expect(try world.tell("daily", "pause"))
        #expect(try !world.tell("daily", "pause"), "there was nothing to do")
        try world.schedule(at: "now() + interval '3 days'")
        #expect(try world.runs("daily").isEmpty)
        let start = #expect(throws: PostgresError.self) { try world.start("daily") }
        #expect(start?.message == "campaign daily is paused")
        #expect(try world.tell("daily", "resume"))
        #expect(try !world.tell("daily", "resume"))
        try world.schedule(at: "now()")
        #expect(try world.runs("daily").isEmpty)
        #expect(try world.campaign("daily", "state || (next_at > now())") == "activetrue")
    }

    @Test func abortedEveryRecipientLeftIsCancelled() throws {
        let world = try World()
        for user in 0..<5 { try world.devices(1, user: "u\(user)") }
        try world.put(campaign: "hello", schedule: #"{"cron": "0 0 1 * *"}"#)
        try world.schedule()
        #expect(try !world.tell("hello", "abort"), "nothing runs")
        try world.start("hello")
        try world.plan()
        #expect(try world.connection.number("SELECT sum(cardinality(device_ids)) FROM fanfare.batches") == 5)
        #expect(try world.tell("hello", "abort"))
        #expect(try !world.tell("hello", "abort"), "it is aborted already")
        try world.missed("hello", "1 month")
        try world.schedule()
        #expect(try world.states("hello") == ["aborting"], "recipients are left, and what is due waits until none is")
        let live = try world.connection.run(LiveGates()).map(\.id)
        #expect(live.count == 2, "the rule's and the run's")
        for gate in live { try world.sweep(gate) }
        try world.schedule()
        #expect(try world.states("hello") == ["aborted", "running"])
        #expect(
            try world.connection.column("SELECT outcome || ' ' || count(*) FROM fanfare.deliveries GROUP BY outcome")
                == ["cancelled 5"]
        )
        try world.plan()
        let gates = try world.connection.run(LiveGates()).map(\.id)
        #expect(Set(gates).subtracting(live).count == 1, "each run has its own, which ends with it")
        #expect(try world.claim(gates: gates).flatMap(\.deviceIDs).count == 5, "it goes on anew")
    }

    @Test func aTestReachesWhomItNamesAndNobodyElse() throws {
        let world = try World()
        for user in ["ann", "bob", "eve"] { try world.devices(1, user: user) }
        try world.put(campaign: "hello", #""payload": {"sale": "winter"}, "to": {"topic": "all", "provider": "apns"}"#)
        try world.schedule()
        _ = try world.connection.query("SELECT fanfare.test_campaign('shop', 'hello', '{ann,eve}')")
        try world.schedule()
        try world.plan()
        #expect(
            try world.connection.column(
                "SELECT rule || ' ' || event_type || ' ' || user_id FROM fanfare.deliveries ORDER BY user_id"
            )
                == [
                    "campaign-test/hello campaign-test.shop.hello ann",
                    "campaign-test/hello campaign-test.shop.hello eve",
                ]
        )
        #expect(try world.connection.text("SELECT payload ->> 'sale' FROM fanfare.event_log") == "winter")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.runs") == 0)
        let nobody = #expect(throws: PostgresError.self) {
            _ = try world.connection.query("SELECT fanfare.test_campaign('shop', 'hello', '{}')")
        }
        #expect(nobody?.message == "user_ids: names nobody")
        #expect(try world.tell("hello", "drop"))
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.rules WHERE dropped_at IS NULL") == 0)
    }

    @Test func whatReachesNobodyIsDone() throws {
        let world = try World()
        try world.put(campaign: "hello", #""to": {"topic": "nobody"}"#)
        try world.schedule()
        try world.start("hello")
        try world.schedule()
        #expect(try world.states("hello") == ["running"], "its event is not planned yet")
        try world.plan()
        try world.schedule()
        #expect(try world.states("hello") == ["done"])
    }

    @Test func droppedItsRuleGoesToo() throws {
        let world = try World()
        try world.put(campaign: "hello", schedule: #"{"cron": "0 9 * * *"}"#)
        try world.schedule(at: "'2026-01-07'")
        #expect(try world.tell("hello", "drop"))
        #expect(try !world.tell("hello", "drop"))
        try world.schedule(at: "'2026-01-09'")
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.runs") == 0)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.rules WHERE dropped_at IS NULL") == 0)
        // A new campaign of the same name starts with version 1.
        #expect(try world.put(campaign: "hello") == 1)
        try world.schedule()
        #expect(try world.campaign("hello", "state") == "active")
    }
}
