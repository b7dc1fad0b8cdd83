import FanfareCore
import TestKit
import Testing

@testable import APIKit
@testable import FanfareHTTP

/// Tests of the pages of rules, and the trial of a rule with an event.
@Suite(.database) struct RulePageTests {
    private static let hostile = #"<script>alert(1)</script>\" onload='x"#

    /// Stores a version and checks it, as a daemon does.
    private func put(
        _ api: APIWorld,
        _ name: String,
        _ more: String = "",
        refused reason: String? = nil
    ) async throws {
        let to = more.contains(#""to""#) ? "" : #", "to": {"users": "$.customer"}"#
        let message =
            more.contains(#""message""#)
            ? "" : #", "message": {"notification": {"title": "T", "body": "{{id}}"}}"#
        let members = more.isEmpty ? "" : ", " + more
        let rule =
            #"{"app": "shop", "name": "\#(name)", "event": "order.shipped"\#(to)\#(message)\#(members)}"#
        _ = try await api.rows("SELECT fanfare.put_rule($json$\(rule)$json$)")
        guard let reason else { return try await api.judge() }
        _ = try await api.rows(
            """
            UPDATE fanfare.rule_versions SET state = 'refused', reason = $json$\(reason)$json$, checked_at = now()
            WHERE state = 'unchecked'
            """
        )
    }

    @Test func refusedRulesComeFirstWithTheReasonAndFiltersStandInTheAddress() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            #expect(try await browser.scan("/rules").text.contains("No rules yet"))
            try await put(api, "a-good")
            try await put(api, "off", #""enabled": false"#)
            try await put(api, "z-bad", refused: "when: \(Self.hostile)")
            let page = try await browser.scan("/rules")
            let places = ["z-bad", "a-good", "off"].compactMap { page.text.firstRange(of: $0)?.lowerBound }
            #expect(places.count == 3 && places == places.sorted())
            #expect(
                page.text.contains("when: \(Self.hostile)")
                    && !page.elements.contains { $0["onload"] != nil }
            )
            #expect(page.text.contains("users $.customer"))
            let disabled = try await browser.scan("/rules?state=disabled")
            #expect(disabled.text.contains("off") && !disabled.text.contains("a-good"))
            #expect(try await browser.scan("/rules?event=none").text.contains("No rule matches"))
            #expect(
                try await browser.scan("/rules?app=bank").text.contains(
                    "No such value. There are: shop."
                )
            )
            #expect(try await browser.page("/rules?after=1.x").status == 400)
        }
    }

    @Test func theListCountsWhatTheRulesPageCountsHoweverOftenItWasPut() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            try await put(api, "busy")
            for sql in [
                "INSERT INTO fanfare.stats SELECT (now() AT TIME ZONE 'UTC')::date - 2, id, 1, 1, 3000 FROM fanfare.rule_versions",
                "INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries) SELECT id, 1, 1, 16 FROM fanfare.rule_versions",
                """
                INSERT INTO fanfare.rule_versions (rule_id, version, event_type, definition, state)
                SELECT v.rule_id, v.version + n, v.event_type, v.definition, 'unchecked'
                FROM fanfare.rule_versions AS v, generate_series(1, 60) AS n
                """,
            ] { _ = try await api.rows(sql) }
            #expect(try await browser.scan("/rules").text.contains("3,016"))
            #expect(try await browser.scan("/rules/shop/busy").text.contains("3,016"))
        }
    }

    @Test func manyRulesAreReadOnPageAfterPage() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            try await put(api, "first")
            _ = try await api.rows(
                """
                WITH made AS (
                    INSERT INTO fanfare.rules (app_id, name) SELECT app_id, 'rule-' || to_char(n, 'FM000') FROM fanfare.rules, generate_series(1, 149) AS n
                    RETURNING id)
                INSERT INTO fanfare.rule_versions (rule_id, version, event_type, definition, state)
                SELECT m.id, 1, v.event_type, v.definition, 'unchecked' FROM made AS m, fanfare.rule_versions AS v
                """
            )
            let first = try await browser.scan("/rules?state=unchecked")
            #expect(first.text.contains("100 rules") && first.text.contains("rule-100"))
            let next = try #require(first.elements.first { $0["rel"] == "next" }?["href"])
            let second = try await browser.scan(next)
            #expect(
                second.text.contains("49 rules") && second.text.contains("rule-149")
                    && !second.text.contains("rule-100")
            )
            // The cursor of another list.
            #expect(try await browser.page(next.replacing("unchecked", with: "active")).status == 400)
        }
    }

    @Test func aRuleHasItsVersionsItsDifferenceAndWhatCameOfIt() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            try await put(api, "r", #""when": "$.total > 10""#)
            try await put(api, "r", #""when": "$.total > 20""#)
            try await put(api, "r", #""when": "$.total > 30""#, refused: "when: <b>no</b>")
            _ = try await api.rows(
                """
                INSERT INTO fanfare.stats (day, rule_version, target_id, outcome, deliveries)
                SELECT (now() AT TIME ZONE 'UTC')::date - 1, id, 1, x.outcome, x.deliveries
                FROM fanfare.rule_versions, (VALUES (1, 1200), (4, 34)) AS x (outcome, deliveries) WHERE version < 3
                """
            )
            // Rows that are not folded yet count as well.
            _ = try await api.rows(
                """
                INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries)
                SELECT id, 1, 1, 7 FROM fanfare.rule_versions WHERE version = 2
                """
            )
            #expect(try await browser.scan("/rules").text.contains("2,407"))
            let page = try await browser.scan("/rules/shop/r")
            #expect(page.text.contains("version 2 in force, 3 refused"))
            #expect(
                page.text.contains("Version 3 is refused: when: <b>no</b>. Version 2 stays in force.")
            )
            #expect(
                page.text.contains("2,407") && page.text.contains("expired") && page.text.contains("68")
            )
            let removed = page.elements.filter { $0.name == "li" && $0["class"] == "removed" }
            #expect(removed.count == 1 && page.text.contains("when: $.total > 20"))
            let second = try await browser.scan("/rules/shop/r?version=2")
            #expect(
                second.text.contains("when: $.total > 10") && !second.text.contains("is refused")
            )
            #expect(try await browser.scan("/rules/shop/r?version=1").text.contains("None, first version."))
            for wrong in [
                "/rules/shop/none", "/rules/bank/r", "/rules/shop/r?version=9", "/rules/shop/r?version=x",
            ] {
                #expect(try await browser.page(wrong).status == 404, "\(wrong)")
            }
        }
    }

    @Test func aRuleIsTriedWithAnEventThatNobodyGets() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let others = try await api.console()
            try await put(
                api,
                "r",
                #"""
                "when": "$.total > 10", "message": {"notification": {"title": "On its way", "body": "No {{id}}"},
                    "android": {"notification": {"channel_id": "offers"}}, "webpush": {"declarative": true, "notification": {"actions": [{"action": "a", "title": "Look", "navigate": "https://shop.example/a"}]},
                        "fcm_options": {"link": "https://shop.example/{{customer}}"}}}
                """#
            )
            let token = String(repeating: "ab", count: 32)
            _ = try await api.rows("SELECT fanfare.register_device('shop', 'apns', '\(token)', 'ann')")
            let path = "/rules/shop/r"
            let asked = try await browser.scan(path)
            let seal = try #require(
                asked.elements.first { $0["name"] == "seal" && $0.within.contains("section") }?["value"]
            )
            let event = #"{"customer": "ann", "total": 11, "id": "<i>7</i>"}"#
            let form = ["seal": seal, "payload": event, "user": "ann"]
            let before = try await api.rows("SELECT count(*) FROM fanfare.actions")
            let reply = try await browser.send(path, form)
            #expect(reply.status == 200 && !reply.body.contains(token))
            let tried = HTMLScan(reply.body)
            #expect(tried.problems.isEmpty)
            #expect(tried.text.contains("Version 1 would match; 1 device of 1 user would get it"))
            #expect(tried.text.contains("true") && tried.text.contains("would get it"))
            // The previews of three screens.
            #expect(tried.elements.count { $0.name == "figure" } == 3)
            #expect(tried.text.contains("On its way") && tried.text.contains("No <i>7</i>"))
            #expect(
                tried.text.contains("offers") && tried.text.contains("Look")
                    && tried.text.contains("of 4,096 bytes")
            )
            #expect(tried.text.contains("\"web_push\": 8030") && tried.text.contains("https://shop.example/ann"))
            #expect(!tried.elements.contains { $0.name == "i" })
            let small = HTMLScan(
                try await browser.send(path, form.merging(["payload": #"{"total": 9}"#]) { $1 }).body
            )
            #expect(
                small.text.contains("would not match") && !small.elements.contains { $0.name == "figure" }
            )
            let wrong = HTMLScan(try await browser.send(path, form.merging(["payload": "{"]) { $1 }).body)
            #expect(wrong.text.contains("the payload is not JSON") && wrong.text.contains("{"))
            // Forms from another site, another session or another rule's page are rejected.
            try await put(api, "s")
            #expect(try await browser.send(path, form, ["Sec-Fetch-Site": "cross-site"]).status == 403)
            #expect(try await others.send(path, form).status == 403)
            #expect(try await browser.send("/rules/shop/s", form).status == 403)
            #expect(try await api.rows("SELECT count(*) FROM fanfare.actions") == before)
            #expect(try await api.rows("SELECT FROM fanfare.outbox").isEmpty)
        }
    }
}
