import FanfareCore
import TestKit
import Testing

@testable import APIKit

/// Tests of the pages of events on a real database.
@Suite(.database) struct EventPageTests {
    @Test func eventsAreFoundByWhatTheyAreAndPageByPage() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            #expect(try await browser.scan("/events").text.contains("fanfare emit"))
            try await api.rule("r", for: "order.shipped")
            let shipped = try await api.logged("order.shipped", 120, key: "'order-' || n")
            let other = try await api.logged(
                "chat",
                from: 200,
                fate: 3,
                key: "'<b>&\"'''",
                detail: "'<script>alert(1)</script>'"
            )
            let waiting = try await api.rows("SELECT fanfare.emit('chat', '{}')::text")[0][0] ?? ""
            var (page, told, pages) = (try await browser.scan("/events?type=order.shipped"), [String](), 1)
            told += page.links("/events/").filter { Int64($0.dropFirst(8)) != nil }
            while let next = page.next, pages < 10 {
                page = try await browser.scan(next)
                told += page.links("/events/").filter { Int64($0.dropFirst(8)) != nil }
                pages += 1
            }
            #expect(pages == 3 && told == shipped.reversed().map { "/events/\($0)" })
            func found(_ query: String) async throws -> [String] {
                try await browser.scan("/events?\(query)").links("/events/").filter { Int64($0.dropFirst(8)) != nil }
            }
            let last = "/events/\(shipped[119])"
            #expect(try await found("") == ["/events/\(waiting)", "/events/\(other[0])"] + told.prefix(49))
            #expect(try await found("fate=waiting") == ["/events/\(waiting)"])
            #expect(try await found("fate=unmatched") == ["/events/\(other[0])"])
            #expect(try await found("key=order-120") == [last])
            #expect(try await found("key=order-120&type=chat") == [])
            #expect(try await found("app=shop").count == 50)
            #expect(try await found("app=shop&type=chat") == [])
            let day = try await api.rows("SELECT to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM-DD')")[0][0] ?? ""
            #expect(try await found("since=\(day)T00:02&type=order.shipped") == [last])
            #expect(
                try await found("until=\(day)T00:00:03&type=order.shipped")
                    == shipped.prefix(2).reversed().map { "/events/\($0)" }
            )
            // Texts from users are shown literally.
            let shown = try await browser.scan("/events?fate=unmatched")
            #expect(shown.text.contains("<script>alert(1)</script>") && shown.text.contains("<b>&\"'"))
        }
    }

    /// A message without a rule is no rule of the app, and its texts are shown as payloads are.
    @Test func aMessageWithoutARuleIsCalledThat() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let message = #"{"app": "shop", "to": {"users": "ann"}, "message": {"notification": {"title": "Secret"}}}"#
            let event = try await api.rows("SELECT fanfare.send('\(message)')::text")[0][0] ?? ""
            try await api.judge()
            #expect(try await browser.scan("/rules").text.contains("No rules yet"))
            let page = try await browser.scan("/events/\(event)")
            #expect(page.text.contains("Message without a rule") && page.text.contains("send.shop"))
            #expect(page.links("/rules/").isEmpty && !page.text.contains("Secret"))
            #expect(try await api.console(.operator).scan("/events/\(event)").text.contains("Secret"))
        }
    }

    @Test func reportsAreWrittenAsAPartOfWhatWasAccepted() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            try await api.rule("r", for: "order.shipped")
            let devices = try await api.devices("ann", "bob", "cleo")
            let event = try await api.logged("order.shipped")[0]
            try await api.batch(event, devices, [1, 1, 72])
            #expect(try await !browser.scan("/events/\(event)").text.contains("Not all devices can report"))
            for sql in [
                #"SELECT fanfare.put_policy('shop', '{"report": true}')"#,
                "INSERT INTO fanfare.report_counts SELECT \(event), min(id), 0, 2, 1 FROM fanfare.rule_versions",
                "INSERT INTO fanfare.report_stats SELECT (now() AT TIME ZONE 'UTC')::date, min(id), 0, 2, 1 FROM fanfare.rule_versions",
            ] {
                _ = try await api.rows(sql)
            }
            let page = try await browser.scan("/events/\(event)")
            #expect(page.text.contains("1 of 2 accepted") && page.text.contains("Not all devices can report"))
            #expect(try await browser.scan("/rules/shop/r").text.contains("Not all devices can report"))
        }
    }

    @Test func whatWaitsIsListedPageByPageTheNewestFirst() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            var emitted: [String] = []
            for count in [70, 50] {
                let rows = try await api.rows(
                    "SELECT fanfare.emit('chat', '{}')::text FROM generate_series(1, \(count))"
                )
                emitted += rows.compactMap { $0[0].map { "/events/\($0)" } }.sorted()
            }
            var (target, told): (String?, [String]) = ("/events?fate=waiting", [])
            while let here = target, told.count < 1_000 {
                let page = try await browser.scan(here)
                told += page.links("/events/").filter { Int64($0.dropFirst(8)) != nil }
                target = page.next
            }
            #expect(told == emitted.reversed())
            #expect(try await browser.scan("/events").text.contains("50 events; of those not planned yet the newest"))
        }
    }

    @Test(arguments: [
        ("since=tomorrow", "Not a time"), ("until=2026-02-31T00:00", "Not a time"),
        ("fate=x", "No such value. There are: waiting, planned"),
        ("app=none", "No such value"), ("since=2026-11-26T10:00&until=2026-11-26T09:00", "must be after"),
    ])
    func aFilterThatIsWrongIsToldInItsForm(query: String, words: String) async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let page = try await browser.scan("/events?\(query)")
            #expect(page.text.contains(words) && page.text.contains("Fix the filter"))
            #expect(page.elements.contains { $0["aria-invalid"] == "true" })
        }
    }

    @Test func anEventTellsWhatBecameOfItAndWhoWasKeptFromIt() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let devices = try await api.devices("ann", "bob", "<i>carl</i>", "dora")
            try await api.rule("r", for: "order.shipped")
            let event = try await api.logged("order.shipped", key: "'k'")[0]
            // Accepted; gone; retried and then accepted; opted out.
            try await api.batch(event, devices, [1, 64, 35, 8])
            try await api.batch(event, [devices[2]], [1], attempt: 2)
            let page = try await browser.scan("/events/\(event)")
            #expect(page.text.contains("4 pushes: 2 accepted, 1 failed, 1 not sent."))
            #expect(!page.text.contains("9007199254740993") && page.text.contains("shop/r"))
            // A `reader` token sees no payloads; an `operator` token sees numbers unchanged.
            let full = try await api.console(.operator).scan("/events/\(event)")
            #expect(full.text.contains(#""n": 9007199254740993"#))
            #expect(
                page.text.contains("1 accepted, 1 gone, 1 opted out, 1 retrying")
                    && page.text.contains("apns, retried")
            )
            #expect(page.text.contains("Only the user should change that"))
            #expect(page.links("/people?").contains("/people?app=shop&user=%3Ci%3Ecarl%3C%2Fi%3E"))
            #expect(page.links("/rules/shop/r") == ["/rules/shop/r"])
            let kept = try #require(page.links("/events/\(event)?outcome=opted_out").first)
            let users = try await browser.scan(kept).links("/people?")
            #expect(Set(users.filter { $0 != "/people" }) == ["/people?app=shop&user=dora"])
            let why = page.elements.filter { $0.within.contains("form") && $0["name"] == "event" }
            #expect(why.map { $0["value"] } == ["\(event)"])
            // Nothing of the event is pending.
            #expect(!page.elements.contains { $0["href"] == "/events/\(event)/cancel" })
            try await api.waitingBatch(event, [devices[1]], attempt: 3)
            let open = try await browser.scan("/events/\(event)")
            #expect(open.text.contains("1 push is still pending"))
            #expect(open.text.contains("needs the scope emitter"))
            for (target, status) in [("/events/7", 404), ("/events/x", 404), ("/events/\(event)?after=1.2.x", 400)] {
                let reply = try await browser.page(target)
                #expect(reply.status == status && HTMLScan(reply.body).problems.isEmpty, "\(target)")
            }
        }
    }

    @Test func rulesSayWhyTheyDidNotTakeAnEvent() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            try await api.rule("big", for: "order", when: "$.n < 5")
            let event = try await api.logged("order", fate: 3)[0]
            let page = try await browser.scan("/events/\(event)")
            #expect(page.text.contains("No rule matched") && page.text.contains("shop/big"))
            #expect(page.text.contains("not matched") && page.text.contains("No push was withheld."))
            let waiting = try await api.rows("SELECT fanfare.emit('order', '{}')::text")[0][0] ?? ""
            _ = try await api.rows("UPDATE fanfare.event_log SET trace = decode(repeat('4b', 25), 'hex')")
            #expect(try await browser.scan("/events/\(waiting)").text.contains("Not planned yet"))
            let trace = String(repeating: "4b", count: 16)
            #expect(try await browser.scan("/events/\(event)").text.contains("trace \(trace)"))
        }
    }

    @Test func variantsAreToldWhereTheyAreAskedFor() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let devices = try await api.devices("ann", "bob")
            try await api.rule("r", for: "order")
            let event = try await api.logged("order")[0]
            try await api.batch(event, devices, [1, 14])
            let page = try await browser.scan("/events/\(event)")
            let link = try #require(page.links("/events/\(event)?show=variants").first)
            #expect(!page.text.contains("got nothing"))
            #expect(try await browser.scan(link).text.contains("got nothing"))
        }
    }

    @Test func whatIsOpenIsSentWhatChanges() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let first = try await api.logged("order")[0]
            let page = try await browser.scan("/events")
            let stream = try #require(page.elements.first { $0.name == "body" }?["data-stream"])
            let host = "127.0.0.1:\(api.port)"
            let request = "GET \(stream) HTTP/1.1\r\nHost: \(host)\r\nCookie: \(browser.cookie ?? "")\r\n\r\n"
            let wire = try await onThread("stream") { [port = api.port] in
                let wire = try Wire(port: port)
                wire.send(request)
                let head = try wire.read(until: "/events/\(first)")
                #expect(head.contains("text/event-stream") && head.contains(#"{"id":"live-rows","html":"#))
                return wire
            }
            let second = try await api.logged("<order>")[0]
            try await onThread("stream") {
                let text = try wire.read(until: "/events/\(second)")
                #expect(text.contains("event: part") && !text.contains("<order>"))
            }
        }
    }
}
