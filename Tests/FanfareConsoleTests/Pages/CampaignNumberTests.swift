import FanfareCore
import TestKit
import Testing

@testable import APIKit
@testable import FanfareConsoleView
@testable import FanfareExplain
@testable import FanfareTools

/// Compares the console's figures of a campaign with those of `campaigns explain` and of the logs.
@Suite(.database) struct CampaignNumberTests {
    /// Stores a campaign and puts it into force.
    private func put(_ api: APIWorld, _ name: String, _ more: String, cron: String? = nil) async throws {
        let campaign = """
            {"app": "shop", "name": "\(name)", "message": {"notification": {"title": "T"}}, \(more)}
            """
        let fields = try cron.map { "'\(try CronExpression($0).json.text)'" } ?? "NULL"
        _ = try await api.rows("SELECT fanfare.put_campaign($json$\(campaign)$json$)")
        _ = try await api.rows(
            "SELECT fanfare.take_campaign(id, version, \(fields), now()) FROM fanfare.campaigns WHERE name = '\(name)'"
        )
        try await api.judge()
    }

    /// Registers users `user-1` and so on, each with one device.
    private func users(_ api: APIWorld, _ count: Int) async throws {
        _ = try await api.rows(
            """
            SELECT fanfare.register_device('shop', 'apns', 'ca' || lpad(to_hex(n), 62, '0'), 'user-' || n)
            FROM generate_series(1, \(count)) AS n
            """
        )
    }

    private func explained(_ name: String) async throws -> JSONValue {
        let configuration = try APIWorld.configuration()
        let database = try ToolDatabase(configuration, environment: [:])
        return try await database.whileOpen { database throws(any Error) in
            try await database.explainCampaign(app: "shop", name: name, in: nil, payload: "{}", configuration)
        }.json
    }

    @Test func aStartConfirmsWhatExplainCounts() async throws {
        try await APIWorld.with { api in
            try await put(api, "sale", #""to": {"everyone": true}, "category": "offers", "holdout": "50%""#)
            try await users(api, 40)
            _ = try await api.rows(
                "SELECT fanfare.set_preference('shop', 'user-' || n, 'offers', true) FROM generate_series(1, 10) AS n"
            )
            let counts = try await explained("sale")["audience"]
            let suppressed = try #require(counts?["suppressed"])
            let out = ["held_out", "opted_out"].compactMap { suppressed[$0]?.numberValue?.integer }
            #expect(counts?["devices"] == 40 && out.count == 2 && out.allSatisfy { $0 > 0 })
            let left = 40 - out.reduce(0, +)
            let page = try await api.console(.operator).scan("/campaigns/shop/sale/start")
            #expect(page.text.contains("\(left)devices") && page.text.contains("Send to \(left) devices"))
            #expect(page.text.contains("\(out.reduce(0, +)): held out \(out[0]), opted out \(out[1])"))
            #expect(page.text.contains("40 devices of 40 users"))
        }
    }

    @Test func aStartCountsWhomAQueryNames() async throws {
        try await APIWorld.with { api in
            _ = try await api.rows("CREATE TABLE public.buyers (id text)")
            _ = try await api.rows("GRANT SELECT ON public.buyers TO fanfare_sql")
            _ = try await api.rows("INSERT INTO public.buyers SELECT 'user-' || n FROM generate_series(1, 7) AS n")
            _ = try await api.rows("INSERT INTO public.buyers VALUES ('nobody')")
            try await put(api, "buyers", #""audience_sql": "SELECT id FROM public.buyers""#)
            try await users(api, 40)
            #expect(try await explained("buyers")["audience"]?["devices"] == 7)
            let browser = try await api.console(.operator)
            let page = try await browser.scan("/campaigns/shop/buyers/start")
            #expect(page.text.contains("7devices") && page.text.contains("Send to 7 devices"))
            #expect(page.text.contains("Users returned by the query") && !page.text.contains("? devices"))
            let done = try await browser.perform("/campaigns/shop/buyers/start")
            #expect(done.location == "/campaigns/shop/buyers?did=started")
        }
    }

    @Test func theNextRunByRecipientsClocksIsSaidByThem() async throws {
        try await APIWorld.with { api in
            try await put(
                api,
                "monday",
                #""to": {"everyone": true}, "schedule": {"cron": "0 9 * * mon", "time_zone": "recipient"}"#,
                cron: "0 9 * * mon"
            )
            let rows = try await api.rows(
                "SELECT to_char(fanfare.shown_at(next_at, 'recipient'), 'FMDD Mon HH24:MI') FROM fanfare.campaigns"
            )
            let next = try #require(rows[0][0])
            #expect(next.hasSuffix("09:00"))
            let browser = try await api.console()
            #expect(try await browser.scan("/campaigns").text.contains("\(next) recipient's time"))
            let page = try await browser.scan("/campaigns/shop/monday").text
            #expect(
                page.contains("\(next) recipient's time")
                    && page.contains("at the campaign's time in its own time zone")
            )
            #expect(!page.contains("at the same moment"))
        }
    }

    @Test func holdoutVariantsAndSpansStandAmongTheFacts() async throws {
        try await APIWorld.with { api in
            try await put(
                api,
                "sale",
                #"""
                "to": {"everyone": true}, "ttl": "43200s", "holdout": "5%", "variants": [{"name": "plain", "weight": 3}, {"name": "emoji", "weight": 1}]
                """#
            )
            let page = try await api.console().scan("/campaigns/shop/sale").text
            #expect(page.contains("plain 75.0 %, emoji 25.0 %") && page.contains("5% of users get nothing"))
            #expect(page.contains("Time to live12 h"))
        }
    }

    @Test func whatAnAbortStoppedIsSaidAsThat() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            try await put(api, "sale", #""to": {"everyone": true}"#)
            let devices = try await api.devices("ann", "bob", "carl")
            _ = try await api.rows("SELECT fanfare.start_campaign('shop', 'sale')")
            let event = try await api.planned()
            _ = try await browser.perform("/campaigns/shop/sale/abort")
            _ = try await api.rows("UPDATE fanfare.runs SET state = 'aborted', ended_at = now()")
            try await api.batch(event, devices, [1, 5, 5])
            _ = try await api.rows(
                """
                INSERT INTO fanfare.gate_stats (gate_id, outcome, deliveries)
                SELECT gate_id, x.outcome, x.deliveries FROM fanfare.runs, (VALUES (1, 1), (5, 2)) AS x (outcome, deliveries)
                """
            )
            let campaign = try await browser.scan("/campaigns/shop/sale").text
            #expect(campaign.contains("The last run was aborted by test: 1 push was accepted before, 2 cancelled."))
            let page = try await browser.scan("/events/\(event)")
            #expect(page.text.contains("The campaign was aborted by test. 3 pushes: 1 accepted, 2 not sent."))
            #expect(page.text.contains("The campaign was aborted by test before it was sent."))
            #expect(!page.text.contains("fanfare.cancel") && !page.text.contains("Replay the event"))
            #expect(page.links("/campaigns/shop/sale").contains("/campaigns/shop/sale"))
        }
    }

    @Test func variantsStandOnTheCampaignsPageHoweverManyBatchesThereAre() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            try await put(
                api,
                "sale",
                #""to": {"everyone": true}, "holdout": "10%", "variants": [{"name": "a"}, {"name": "b"}]"#
            )
            try await users(api, 2000)
            _ = try await api.rows("SELECT fanfare.start_campaign('shop', 'sale')")
            let event = try await api.planned()
            // A rate makes many small batches: more than one query of the event's page counts.
            _ = try await api.rows(
                """
                INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, created_at, first_device, last_device, rule_version, event_id,
                    outcomes, device_ids)
                SELECT fanfare.ring_day(b.id), 1, d.target_id, 1, b.id, now(), d.id, d.id, (SELECT max(id) FROM fanfare.rule_versions), \(event),
                    CASE WHEN fanfare.variant_of(v.definition::jsonb, d.user_id, d.id) = 'holdout' THEN '\\x0e' ELSE '\\x01' END::bytea, ARRAY[d.id]
                FROM fanfare.devices AS d, (SELECT definition FROM fanfare.rule_versions ORDER BY id DESC LIMIT 1) AS v,
                    LATERAL (SELECT fanfare.new_batch_id() AS id, d.id AS device) AS b
                """
            )
            let told = try await api.rows(
                "SELECT variant, sum(count)::text FROM fanfare.variants(\(event)) GROUP BY 1 ORDER BY 1"
            )
            #expect(told.map { $0[0] } == ["a", "b", "holdout"])
            // Each query continues the count until all are counted.
            var page = try await browser.scan("/campaigns/shop/sale")
            for _ in 0..<100 where page.text.contains("Counted so far") {
                page = try await browser.scan("/campaigns/shop/sale")
            }
            let figures = told.map { FigureText.count(Int64($0[1] ?? "") ?? 0) }
            #expect(page.text.contains("acampaign/sale\(figures[0])\(figures[0])0100 %"), "\(page.text)")
            #expect(page.text.contains("bcampaign/sale\(figures[1])\(figures[1])0100 %"))
            #expect(page.text.contains("holdoutcampaign/sale\(figures[2])––got nothing"))
            let whole = try await browser.scan("/events/\(event)")
            #expect(whole.text.contains("2,000 pushes:") && !whole.text.contains("Counted: a part"))
            #expect(whole.links("/events/\(event)?show=variants").count == 1)
        }
    }
}

extension APIWorld {
    /// Logs the one event in the outbox, as the planner does.
    ///
    /// - Returns: the event's id.
    fileprivate func planned() async throws -> Int64 {
        let ids = try await rows(
            """
            WITH taken AS (DELETE FROM fanfare.outbox RETURNING id, type, key, created_at, payload)
            INSERT INTO fanfare.event_log (day, fate, id, type, key, created_at, planned_at, payload)
            SELECT fanfare.ring_day(id), 1, id, type, key, created_at, now(), payload FROM taken RETURNING id::text
            """
        )
        return try #require(ids.first?.first.flatMap(\.self).flatMap { Int64($0) })
    }
}
