import FanfareCore
import TestKit
import Testing

@testable import APIKit
@testable import FanfareHTTP

/// Tests of the pages of campaigns and their actions.
@Suite(.database) struct CampaignPageTests {
    /// Stores a campaign to everyone and puts it into force.
    private func put(_ api: APIWorld, _ name: String, _ more: String = "", cron: String = "NULL")
        async throws
    {
        let members = more.isEmpty ? "" : ", " + more
        let campaign = """
            {"app": "shop", "name": "\(name)", "to": {"everyone": true}, "message": {"notification": {"title": "Sale <b>"}}\(members)}
            """
        _ = try await api.rows("SELECT fanfare.put_campaign($json$\(campaign)$json$)")
        _ = try await api.rows(
            "SELECT fanfare.take_campaign(id, version, \(cron), now()) FROM fanfare.campaigns WHERE name = '\(name)'"
        )
        try await api.judge()
    }

    private func devices(_ api: APIWorld, _ count: Int) async throws {
        _ = try await api.rows(
            """
            SELECT fanfare.register_device('shop', 'apns', 'ca' || lpad(to_hex(n), 62, '0'), 'user-' || n)
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    private func actions(_ api: APIWorld) async throws -> [[String?]] {
        try await api.rows("SELECT actor, action FROM fanfare.actions ORDER BY id")
    }

    @Test func whatComesStandsInTheCalendarAndTheListCanBeFiltered() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            #expect(try await browser.scan("/campaigns").text.contains("No campaigns yet"))
            try await put(api, "by-hand")
            let fields = try CronExpression("30 6 * * *").json.text
            try await put(api, "daily", #""schedule": {"cron": "30 6 * * *"}"#, cron: "'\(fields)'")
            let page = try await browser.scan("/campaigns")
            #expect(page.text.contains("manual") && page.text.contains("30 6 * * * UTC"))
            #expect(page.elements.count { $0.name == "li" && $0.within.last == "ol" } == 28)
            // An entry for each coming day, except perhaps today and the past days of this week.
            let entries = page.elements.count { $0.name == "a" && $0["href"] == "/campaigns/shop/daily" }
            #expect((21...29).contains(entries), "\(entries)")
            let filtered = try await browser.scan("/campaigns?name=hand")
            let rows = filtered.elements.filter { $0.name == "a" && $0["data-row"] != nil }
            #expect(rows.map { $0["href"] } == ["/campaigns/shop/by-hand"])
            #expect(try await browser.scan("/campaigns?state=x").text.contains("No such value."))
        }
    }

    @Test func aCampaignIsStartedOnceByWhoMayAndWasToldForHowMany() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            let reader = try await api.console()
            try await put(api, "sale")
            try await devices(api, 12)
            let path = "/campaigns/shop/sale"
            let seen = try await reader.scan(path)
            #expect(seen.text.contains("everyone") && seen.text.contains("Sale <b>"))
            #expect(
                !seen.elements.contains { $0["href"]?.hasSuffix("/start") == true || $0["name"] == "user" }
            )
            #expect(try await reader.page("\(path)/start").status == 403)
            let question = try await browser.scan("\(path)/start")
            #expect(question.text.contains("12devices") && question.text.contains("Send to 12 devices"))
            let fields = try await browser.question("\(path)/start")
            for (client, sent, site) in [
                (reader, fields, "same-origin"), (browser, fields, "cross-site"),
                (browser, [:], "same-origin"),
            ] {
                #expect(
                    try await client.send("\(path)/start", sent, ["Sec-Fetch-Site": site]).status == 403
                )
            }
            // The audience has grown a lot: the confirmation is asked for again.
            try await devices(api, 40)
            let again = try await browser.send("\(path)/start", fields)
            #expect(again.status == 200 && again.body.contains("This changed after you were asked"))
            #expect(try await api.rows("SELECT FROM fanfare.runs").isEmpty)
            let current = try await browser.question("\(path)/start")
            let done = try await browser.send("\(path)/start", current)
            #expect(done.location == "\(path)?did=started")
            #expect(
                try await browser.scan("\(path)?did=started").text.contains("The campaign is started.")
            )
            // A form that is sent twice starts the campaign once.
            let twice = try await browser.send("\(path)/start", current)
            #expect(twice.status == 200 && twice.body.contains("it is running"))
            #expect(try await api.rows("SELECT count(*)::text FROM fanfare.runs") == [["1"]])
            #expect(try await actions(api) == [["test", "campaign.start"]])
            #expect(try await browser.page("/campaigns/shop/none").status == 404)
        }
    }

    @Test func aRunIsPausedResumedAndAborted() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            try await put(
                api,
                "sale",
                #""schedule": {"at": "2999-01-01T09:00", "time_zone": "recipient"}"#
            )
            try await devices(api, 3)
            _ = try await api.rows("SELECT fanfare.start_campaign('shop', 'sale')")
            // Two zones are pending, one of them for hours.
            _ = try await api.rows(
                """
                WITH o AS (UPDATE fanfare.runs SET wall = '2999-01-01 09:00', planned = 3 RETURNING *)
                INSERT INTO fanfare.batches (lane, target_id, rule_version, event_id, gate_id, device_ids, not_before)
                SELECT 2, (SELECT min(target_id) FROM fanfare.devices), (SELECT min(id) FROM fanfare.rule_versions), event_id, gate_id,
                    x.ids, x.at
                FROM o, (VALUES ('{1,2}'::bigint[], '2999-01-01 08:00Z'::timestamptz), ('{3}', '2999-01-01 14:00Z')) AS x (ids, at)
                """
            )
            let path = "/campaigns/shop/sale"
            let page = try await browser.scan(path)
            #expect(page.text.contains("It is running.") && page.text.contains("0 of 3"))
            #expect(page.text.contains("2 devices") && page.text.contains("time zones at UTC+1"))
            #expect(
                page.text.contains("1 device") && page.text.contains("time zones at UTC\u{2212}5")
            )
            let list = try await browser.scan("/campaigns")
            #expect(list.elements.contains { $0.name == "progress" && $0["max"] == "3" })
            #expect(
                try await browser.scan("\(path)/pause").text.contains("3pushes that are not sent yet")
            )
            #expect(try await browser.perform("\(path)/pause").location == "\(path)?did=paused")
            #expect(try await browser.scan(path).text.contains("It is paused: unsent pushes wait"))
            #expect(try await browser.scan("\(path)/pause").text.contains("it is paused already"))
            #expect(try await browser.scan("\(path)/start").text.contains("It cannot be started"))
            #expect(try await browser.perform("\(path)/resume").location == "\(path)?did=resumed")
            for _ in 0..<6 {
                #expect(try await browser.perform("\(path)/pause").location == "\(path)?did=paused")
                #expect(try await browser.perform("\(path)/resume").location == "\(path)?did=resumed")
            }
            let question = try await browser.scan("\(path)/abort")
            #expect(question.text.contains("cannot be undone"))
            #expect(try await browser.perform("\(path)/abort").location == "\(path)?did=aborted")
            #expect(
                try await actions(api)
                    == Array(repeating: [["test", "campaign.pause"], ["test", "campaign.resume"]], count: 7).flatMap(
                        \.self
                    )
                    + [["test", "campaign.abort"]]
            )
            let nothing = try await browser.scan("\(path)/abort")
            #expect(
                nothing.text.contains("Nothing to do")
                    && !nothing.elements.contains { $0["name"] == "reason" }
            )
        }
    }

    @Test func aCanaryThatFailedIsShutUntilSomebodyDecides() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            try await put(api, "sale", #""canary": {"share": "1%"}"#)
            _ = try await api.rows("SELECT fanfare.start_campaign('shop', 'sale')")
            let path = "/campaigns/shop/sale"
            let waits = try await browser.scan(path)
            #expect(waits.text.contains("The rest waits for its result."))
            _ = try await api.rows(
                """
                WITH o AS (UPDATE fanfare.runs SET verdict = 'failed' RETURNING *)
                INSERT INTO fanfare.gate_stats (gate_id, outcome, deliveries) SELECT gate_id, x.outcome, x.deliveries
                FROM o, (VALUES (1, 90), (96, 10)) AS x (outcome, deliveries)
                """
            )
            _ = try await api.rows("UPDATE fanfare.gates SET is_paused = true, reason = 'its <canary>'")
            _ = try await api.rows("UPDATE fanfare.campaigns SET state = 'paused'")
            let shut = try await browser.scan(path)
            #expect(shut.text.contains("10 (10.0 %)") && shut.text.contains("Send to the rest"))
            let question = try await browser.scan("\(path)/resume")
            #expect(question.text.contains("10.0 % of its canary failed. This sends to the rest."))
            _ = try await browser.perform("\(path)/resume")
            #expect(
                try await api.rows("SELECT DISTINCT state, is_paused::text FROM fanfare.gates") == [
                    ["open", "false"]
                ]
            )
            #expect(try await browser.scan(path).text.contains("an operator resumed or aborted the rest"))
        }
    }

    @Test func theVariantForTheRestOfAnExperimentIsChosen() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            try await put(
                api,
                "sale",
                #""report": true, "variants": [{"name": "plain"}, {"name": "short"}], "experiment": {"share": "50%"}"#
            )
            _ = try await api.rows("SELECT fanfare.start_campaign('shop', 'sale')")
            _ = try await api.rows(
                """
                WITH o AS (UPDATE fanfare.runs SET verdict = 'passed', look_at = now(), figures = '{"detail": "not <clear>"}' RETURNING *)
                INSERT INTO fanfare.event_log (day, id, type, created_at, fate, payload)
                SELECT fanfare.ring_day(event_id), event_id, 'x', now(), 1, '{}' FROM o
                """
            )
            let path = "/campaigns/shop/sale"
            let page = try await browser.scan(path)
            #expect(page.text.contains("Experiment") && page.text.contains("waits for its experiment"))
            #expect(page.text.contains("not <clear>. The rest waits."))
            let question = try await browser.scan("\(path)/resume")
            #expect(question.text.contains("each user their own variant") && question.text.contains("short"))
            _ = try await browser.perform("\(path)/resume", ["winner": "short"])
            #expect(try await api.rows("SELECT winner FROM fanfare.runs") == [["short"]])
            #expect(try await browser.scan(path).text.contains("The rest gets short."))
        }
    }

    @Test func aTestGoesToOneUserWhoHasADevice() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            try await put(api, "sale")
            try await devices(api, 1)
            let path = "/campaigns/shop/sale"
            let page = try await browser.scan(path)
            let form = try #require(
                page.elements.firstIndex { $0.name == "form" && $0["action"] == "\(path)/test" }
            )
            let seal = try #require(page.elements[form...].first { $0["name"] == "seal" }?["value"])
            let nobody = try await browser.send("\(path)/test", ["seal": seal, "user": "<ann>"])
            #expect(
                nobody.status == 422 && HTMLScan(nobody.body).text.contains("<ann> has no device of shop")
            )
            let sent = try await browser.send("\(path)/test", ["seal": seal, "user": "user-1"])
            #expect(sent.location == "\(path)?did=tested")
            #expect(
                try await api.rows("SELECT payload ->> 'users' FROM fanfare.outbox") == [[#"["user-1"]"#]]
            )
            #expect(try await actions(api) == [["test", "campaign.test"]])
            // The test was not a run.
            #expect(try await browser.scan(path).text.contains("No runs yet."))
        }
    }

    @Test func occurrencesAreReadOnPageAfterPage() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            try await put(api, "sale")
            _ = try await api.rows(
                """
                INSERT INTO fanfare.runs (campaign_id, scheduled_at, event_id, state, fired_at, ended_at, planned)
                SELECT c.id, now() - n * interval '1 day', n, 'done', now() - n * interval '1 day', now() - n * interval '1 day' + interval '90 s', n
                FROM fanfare.campaigns AS c, generate_series(1, 25) AS n
                """
            )
            let first = try await browser.scan("/campaigns/shop/sale")
            #expect(first.text.contains("20 runs") && first.text.contains("1 min 30 s"))
            #expect(first.elements.contains { $0["href"] == "/events/20" })
            let next = try #require(first.elements.first { $0["rel"] == "next" }?["href"])
            let second = try await browser.scan(next)
            #expect(
                second.text.contains("5 runs")
                    && !second.elements.contains { $0["href"] == "/events/20" }
            )
        }
    }
}
