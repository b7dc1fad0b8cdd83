import FanfareCore
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareConfiguration
@testable import FanfareExplain
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// The explanation of a campaign: recipients, messages and times.
@Suite(.database) struct CampaignExplainTests {
    /// - Parameters:
    ///   - file: the YAML that contains it; nil for the stored campaign.
    ///   - now: the time of the query, as PostgreSQL reads it; nil for now.
    private func explain(
        _ name: String,
        file: String? = nil,
        payload: String = "{}",
        at now: String? = nil,
        user: String? = nil
    ) async throws -> CampaignExplanation {
        let set = try file.map { try CampaignSet(RulesFile(yaml: $0, named: "campaigns.yaml", of: .campaign).rules) }
        return try await toolDatabase(user: user).whileOpen { database throws(any Error) in
            try await database.explainCampaign(
                app: "shop",
                name: name,
                in: set,
                payload: payload,
                toolConfiguration(),
                at: now.map(Self.time)
            )
        }
    }

    private static func time(_ text: String) throws -> Timestamp {
        let microseconds = try sql("SELECT (extract(epoch FROM $1::timestamptz) * 1000000)::bigint", text).first
        return Timestamp(microseconds: try #require(microseconds?.flatMap { Int64($0) }))
    }

    @Test func itCountsByProviderZoneAndReason() async throws {
        let world = try World()
        try world.devices(2, in: "Europe/Madrid", of: "ann")
        try world.devices(1, in: "Europe/Madrid", of: "bob", provider: "fcm")
        try world.devices(3, in: "Asia/Tokyo")
        try world.devices(1, in: nil, of: "bob")
        let lost = try world.devices(2, in: "Asia/Tokyo")
        try sql(
            "UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'Unregistered' WHERE id = ANY ($1::bigint[])",
            "{\(lost)}"
        )
        try world.put(campaign: "hello", #""locales": {"es": {"notification": {"title": "Más"}}}"#)
        try world.schedule()
        let explanation = try await explain("hello", at: "2026-06-01 12:00Z")
        let counts = try #require(explanation.audience.counts)
        #expect(counts.sum.devices == 7 && counts.sum.users == 2 && counts.disabled.map(\.devices) == [2])
        #expect(counts.zones.map(\.text) == ["Asia/Tokyo", "Europe/Madrid", "none"])
        #expect(counts.zones.map(\.devices) == [3, 3, 1])
        #expect(counts.zones.map(\.wall) == ["2026-06-01 21:00", "2026-06-01 14:00", "2026-06-01 12:00"])
        let lines = explanation.text.components(separatedBy: "\n")
        #expect(lines[0] == "shop/hello  active, version 1")
        #expect(lines[1] == "  manual: as if it were started now")
        #expect(lines[3].hasPrefix("  7 devices of 2 users would get it: apns 6, fcm 1; disabled: 2; "))
        #expect(lines[4] == "  disabled for: Unregistered 2")
        #expect(lines[5] == "  first push 2026-06-01 12:00 UTC, last due 2026-06-01 12:00 UTC, unthrottled")
        #expect(lines.contains("Asia/Tokyo     3        2026-06-01 21:00"))
        // Web Push has no recipients.
        #expect(explanation.messages.map(\.provider) == [.apns, .fcm, .apns, .fcm])
        #expect(explanation.messages.map(\.matchedLocale) == [nil, nil, "es", "es"])
        #expect(explanation.messages.allSatisfy { $0.body.utf8.count > 10 && $0.problem == nil })
        #expect(!explanation.isRefused)
        let json = explanation.json
        #expect(json["audience"]?["disabled_by_reason"]?["Unregistered"] == 2)
        #expect(json["messages"]?.arrayValue?.last?["body"]?.text.contains("Más") == true)
    }

    /// At noon UTC, 09:00 has passed east of Madrid: seventeen hours ago in Kiritimati, twelve in Tokyo.
    @Test func whereItsTimeHasPassedItIsSentAtOnceOrTooLate() async throws {
        let world = try World()
        try world.devices(2, in: "Asia/Tokyo")
        try world.devices(4, in: "Pacific/Kiritimati")
        try world.devices(1, in: nil)
        try world.devices(3, in: "America/New_York")
        let yaml = """
            - name: once
              app: shop
              schedule: { at: "2099-01-05T09:00", time_zone: recipient, default_time_zone: Europe/Madrid }
              to: { everyone: true }
              message: { notification: { title: "Hi" } }
              ttl: 13h
            """
        let explanation = try await explain("once", file: yaml, at: "2099-01-05 12:00Z")
        let passed = try #require(explanation.passed)
        #expect(
            passed.atOnce.map(\.text) == ["Asia/Tokyo", "none"] && passed.tooLate.map(\.text) == ["Pacific/Kiritimati"]
        )
        let text = explanation.text
        #expect(
            text.hasPrefix(
                "shop/once  campaigns.yaml:1\n  next 2099-01-05 09:00 recipient's local time (planned at once)\n"
            )
        )
        #expect(text.contains("  has passed in 2 time zones with 3 devices (Asia/Tokyo 2, none 1): sent at once\n"))
        #expect(
            text.contains(
                "  has passed in 1 time zone with 4 devices (Pacific/Kiritimati 4): too late for the ttl of 13h, would expire\n"
            )
        )
        #expect(text.contains("first push 2099-01-05 12:00 UTC, last due 2099-01-05 14:00 UTC, 2h in all"))
        #expect(text.contains("2099-01-04 19:00 UTC  4        Pacific/Kiritimati\n"))
        #expect(!text.contains("warning: "), "that they are too late is said already")
        #expect(explanation.json["passed"]?["too_late"]?["devices"] == 4)
        // Before the first zone is due, no zone's time has passed.
        let early = try await explain("once", file: yaml, at: "2099-01-01 12:00Z")
        #expect(early.passed?.isEmpty == true && early.text.contains("(planned 2099-01-04 18:00 UTC)"))
        #expect(early.forecast?.seconds == 68_400)
        let over = try await explain("once", file: yaml, at: "2099-01-06 13:00Z")
        #expect(over.isRefused && over.text.contains("warning: schedule.at has passed: it cannot be applied"))
    }

    @Test func whatIsTooSlowForItsTimeToLiveIsWarnedOf() async throws {
        let world = try World()
        try world.devices(50, in: nil)
        try world.put(
            campaign: "slow",
            schedule: #"{"cron": "0 9 * * *"}"#,
            #""rate": "2/s", "ttl": "20s", "canary": {"devices": 10, "wait": "10s"}"#
        )
        try world.schedule(at: "'2026-06-01 00:00Z'")
        let explanation = try await explain("slow", at: "2026-06-01 08:00Z")
        // Ten devices are sent first, within five seconds; of the others, twenty fit into the remaining time.
        #expect(explanation.forecast?.canary == 10 && explanation.forecast?.expired == 20)
        let text = explanation.text
        #expect(text.contains("  next 2026-06-01 09:00 UTC\n  ttl: 20s\n  rate: 2/s\n"))
        #expect(text.contains("canary: about 10 devices first, evaluated about 2026-06-01 09:00 UTC\n"))
        #expect(text.contains("first push 2026-06-01 09:00 UTC, last 2026-06-01 09:00 UTC, 20s in all\n"))
        #expect(text.contains("warning: 20 of 50 devices would still wait when their ttl of 20s is over, and expire"))
    }

    /// The smallest variant of a fifth of 100 devices gets 5 of them: 20, divided 3 to 1.
    @Test func whatAnExperimentCanFindIsSaidBefore() async throws {
        let world = try World()
        try world.devices(100, in: nil)
        let experiment =
            #""report": true, "variants": [{"name": "a", "weight": 3}, {"name": "b"}], "experiment": {"share": "20%"}"#
        try world.put(campaign: "sale", schedule: #"{"cron": "0 9 * * *"}"#, experiment)
        try world.schedule(at: "'2026-06-01 00:00Z'")
        let explanation = try await explain("sale", at: "2026-06-01 08:00Z")
        #expect(explanation.experiment?.smallestArm == 5 && explanation.experiment?.isTooSmall == true)
        let text = explanation.text
        #expect(text.contains("the experiment names no winner: about 5 devices get its smallest variant"), "\(text)")
        #expect(text.contains("people count once a device of theirs has reported a receipt"))
        let definition = explanation.campaign
        let large = try #require(ExperimentForecast(devices: 1_000_000, definition))
        #expect(large.smallestArm == 50_000 && !large.isTooSmall)
        let increase = try #require(large.steps.first { $0.base == 0.05 }?.increase)
        #expect(increase > 0.002 && increase < 0.01)
    }

    @Test func theAppsPolicyHoldsToo() async throws {
        let world = try World()
        try world.devices(40, in: nil)
        try world.put(campaign: "daily", schedule: #"{"cron": "0 9 * * *", "time_zone": "recipient"}"#)
        try world.schedule(at: "'2026-06-01 00:00Z'")
        try sql(
            #"SELECT fanfare.put_policy('shop', '{"time_zone": "Asia/Tokyo", "rate": "20/s", "providers": {"apns": {"rate": "4/s"}}}')"#
        )
        let explanation = try await explain("daily", at: "2026-06-01 01:00Z")
        #expect(explanation.forecast?.firstAt == (try Self.time("2026-06-02 00:00Z")))
        #expect(explanation.forecast?.seconds == 10)
        #expect(explanation.text.contains("  rate of the app: 20/s\n  rate of apns: 4/s\n"))
    }

    @Test func missedTimesAreThoseThatCatchUpLeaves() async throws {
        let world = try World()
        for rule in ["latest", "all", "none"] {
            try world.put(campaign: rule, schedule: #"{"cron": "0 9 * * *", "catch_up": "\#(rule)"}"#)
        }
        try world.schedule(at: "'2026-06-01 00:00Z'")
        func next(_ name: String) async throws -> Timestamp? {
            try await explain(name, at: "2026-06-03 12:00Z").run.at
        }
        #expect(try await next("latest") == Self.time("2026-06-03 09:00Z"))
        #expect(try await next("all") == Self.time("2026-06-01 09:00Z"))
        #expect(try await next("none") == Self.time("2026-06-04 09:00Z"))
        #expect(
            try await explain("latest", at: "2026-06-03 12:00Z").text.contains("next 2026-06-03 09:00 UTC, at once\n")
        )
    }

    @Test func whatIsPutOverThePayloadCounts() async throws {
        let world = try World()
        let device = try world.devices(1, in: "Asia/Tokyo")
        try sql("SELECT fanfare.subscribe($1::bigint, 'sale-winter')", device)
        let to =
            #""to": {"topic": "sale-{{sale}}"}, "message": {"notification": {"title": "{{sale}} for {{user.id}}"}}"#
        try world.put(campaign: "sale", to + #", "payload": {"sale": "summer"}"#)
        try world.put(campaign: "nameless", to)
        try world.put(campaign: "fcm", #""to": {"fcm_topic": "news"}"#)
        try world.schedule()
        #expect(try await explain("sale").audience.counts?.sum.devices == 0)
        let winter = try await explain("sale", payload: #"{"sale": "winter"}"#)
        #expect(winter.audience.counts?.sum.devices == 1 && winter.text.contains("winter for …"))
        let nameless = try await explain("nameless")
        #expect(nameless.isRefused && nameless.text.contains("not counted: 'sale' is missing or null"))
        let kept = try await explain("fcm")
        #expect(!kept.isRefused && kept.text.contains("fcm manages the audience") && kept.messages.count == 1)
        await #expect(throws: ToolError.self) { try await explain("other") }
    }

    @Test func itsQueryIsAskedByWhoMay() async throws {
        let world = try World()
        try world.devices(2, in: "Asia/Tokyo", of: "ann")
        try world.devices(3, in: nil, of: "bob")
        try sql("CREATE TABLE public.lapsed AS SELECT id, 'friend' AS name FROM unnest('{ann,eve}'::text[]) AS id")
        try sql("GRANT SELECT ON public.lapsed TO fanfare_sql")
        try world.put(
            campaign: "lapsed",
            #""to": {}, "audience_sql": "SELECT id, jsonb_build_object('name', name) FROM public.lapsed", "#
                + #""message": {"notification": {"title": "Hi {{recipient.name}}"}}"#
        )
        try world.schedule()
        let explanation = try await explain("lapsed")
        #expect(explanation.audience.counts?.sum.devices == 2 && explanation.audience.counts?.sum.users == 1)
        #expect(explanation.text.contains("  audience_sql names 2 users\n  2 devices of 1 user would get it: apns 2"))
        #expect(explanation.messages.first?.body.contains("Hi friend") == true && !explanation.isRefused)
        try await withRole(in: "fanfare_reader") { role throws in
            let asked = try await explain("lapsed", user: role)
            #expect(!asked.isRefused && asked.text.contains("audience_sql selects the audience when it runs; "))
        }
        try sql("REVOKE SELECT ON public.lapsed FROM fanfare_sql")
        let refused = try await explain("lapsed")
        #expect(refused.isRefused && refused.text.contains("audience_sql: permission denied for table lapsed"))
    }

    @Test func aReaderNeedsNoOtherRoleAndNothingIsChanged() async throws {
        let world = try World()
        try world.devices(3, in: "Asia/Tokyo")
        try world.put(
            campaign: "daily",
            schedule: #"{"cron": "0 9 * * *", "time_zone": "recipient"}"#,
            #""to": {"condition": "!('muted' in topics)", "devices": "!exists($.beta)"}"#
        )
        try world.schedule()
        try await withRole(in: "fanfare_reader") { role throws in
            let explanation = try await explain("daily", user: role)
            #expect(explanation.audience.counts?.sum.devices == 3)
            #expect(explanation.passed?.isEmpty == true)
        }
        #expect(
            try sql("SELECT (SELECT count(*) FROM fanfare.outbox) + (SELECT count(*) FROM fanfare.runs)") == [
                "0"
            ]
        )
    }

    /// The same zones as above, in `campaigns plan`.
    @Test func aPlanSaysWhereTheNextTimeHasPassed() async throws {
        let world = try World()
        try world.devices(2, in: "Asia/Tokyo")
        try world.devices(1, in: "Pacific/Kiritimati")
        try world.devices(3, in: "America/New_York")
        let yaml = """
            - name: once
              app: shop
              schedule: { at: "2099-01-05T09:00", time_zone: recipient }
              to: { everyone: true }
              message: { notification: { title: "Hi" } }
              ttl: 13h
            """
        let set = try CampaignSet(RulesFile(yaml: yaml, named: "campaigns.yaml", of: .campaign).rules)
        let database = try toolDatabase()
        let plan = try await database.plan(set, prune: false, at: Self.time("2099-01-05 12:00Z"))
        #expect(
            plan.text.components(separatedBy: "\n") == [
                "+ shop/once", "    next 2099-01-05 09:00 recipient's local time (planned at once)",
                "    has passed in 1 time zone with 2 devices (Asia/Tokyo 2): sent at once",
                "    has passed in 1 time zone with 1 device (Pacific/Kiritimati 1): too late for the ttl of 13h, would expire",
                "1 added, 0 changed, 0 unchanged, 0 dropped",
            ]
        )
        #expect(plan.json["campaigns"]?.arrayValue?.first?["passed"]?["at_once"]?["devices"] == 2)
        try await withRole(in: "fanfare_author") { role throws in
            try await toolDatabase(user: role).whileOpen { database throws(any Error) in
                let plan = try await database.plan(set, prune: false, at: Self.time("2099-01-05 12:00Z"))
                #expect(plan.text.contains("where it has passed is unknown: permission denied for "))
            }
        }
        let early = try await database.plan(set, prune: false, at: Self.time("2099-01-01 12:00Z"))
        #expect(early.json["campaigns"]?.arrayValue?.first?["passed"] == nil)
        // After it has fired, it counts as passed in no zone.
        _ = try await database.apply(set, prune: false)
        try world.schedule()
        try world.schedule(at: "'2099-01-05 12:00Z'")
        #expect(try world.runs("once") == ["2099-01-04 18:00 running"])
        let fired = try await database.plan(set, prune: false, at: Self.time("2099-01-05 12:00Z"))
        #expect(!fired.text.contains("has passed"))
    }
}

extension World {
    /// Registers devices with a time zone.
    ///
    /// - Returns: their ids, separated by commas.
    @discardableResult
    fileprivate func devices(
        _ count: Int,
        in zone: String?,
        of user: String? = nil,
        provider: String = "apns"
    ) throws -> String {
        try connection.column(
            """
            SELECT string_agg(id::text, ',') FROM (
                SELECT fanfare.register_device('shop', '\(provider)', encode(sha256((g || gen_random_uuid()::text)::bytea), 'hex'),
                    \(user.map { "'\($0)'" } ?? "NULL"), time_zone => \(zone.map { "'\($0)'" } ?? "NULL")) AS id
                FROM generate_series(1, \(count)) AS g) AS made
            """
        )[0]
    }
}
