import FanfareCore
import TestKit
import Testing

@testable import APIKit

/// Tests of the page that explains why a user did not get a push.
@Suite(.database) struct PersonPageTests {
    @Test func thePageAsksForAUserAndTellsOfOneWhoIsNotThere() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            #expect(try await browser.scan("/people").text.contains("Find a user"))
            #expect(try await browser.scan("/people?user=x&app=none").text.contains("No such value"))
            let nobody = try await browser.scan("/people?user=%3Cb%3Eann")
            #expect(nobody.text.contains("No device is registered with this user id"))
            #expect(nobody.text.contains("<b>ann"))
        }
    }

    @Test func whatAUserHasAndGotIsShown() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let devices = try await api.devices("ann", "bob", "ann")
            try await api.rule("r", for: "order")
            _ = try await api.rows("SELECT fanfare.subscribe(\(devices[0]), 'winter')")
            _ = try await api.rows("SELECT fanfare.set_preference('shop', 'ann', 'offers', true)")
            let events = try await api.logged("order", 30)
            for event in events { try await api.batch(event, devices, [1, 1, 8]) }
            let page = try await browser.scan("/people?user=ann")
            #expect(page.text.contains("ago: The provider accepted the push") || page.text.contains("opted out"))
            #expect(
                page.text.contains("2 of 2 enabled") && page.text.contains("winter") && page.text.contains("offers")
            )
            #expect(page.text.contains("25 pushes") && !page.text.contains("abab00"))
            var (told, next) = (25, page.next)
            while let target = next, told < 100 {
                let further = try await browser.scan(target)
                told += further.elements.count {
                    $0.name == "a" && $0["data-row"] != nil && $0["href"]?.hasPrefix("/events/") == true
                }
                next = further.next
            }
            #expect(told == 60)
            _ = try await api.rows(
                "UPDATE fanfare.devices SET disabled_at = now(), disabled_reason = 'Unregistered' WHERE user_id = 'ann'"
            )
            let disabled = try await browser.scan("/people?user=ann&app=shop")
            #expect(disabled.text.contains("Nothing is sent: 2 devices of this user, all disabled (Unregistered)"))
        }
    }

    @Test func whyAPushDidNotComeIsThreeClicksAway() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console(.operator)
            let devices = try await api.devices("ann", "bob")
            try await api.rule("r", for: "order")
            let event = try await api.logged("order", key: "'order-1'")[0]
            try await api.batch(event, devices, [8, 1])
            // From the list of events by key, to the event, to its form.
            let list = try await browser.scan("/events?key=order-1")
            let page = try await browser.scan(try #require(list.links("/events/\(event)").first))
            #expect(page.elements.contains { $0.name == "form" && $0["action"] == "/people" })
            for asked in ["\(event)", "order-1", "%20\(event)%20"] {
                let why = try await browser.scan("/people?user=ann&event=\(asked)")
                #expect(why.text.contains("Event \(event), order: opted out by shop/r"), "\(asked)")
                #expect(why.text.contains("Only the user should change that") && why.text.contains("attempt 1"))
                let replay = "/events/\(event)/replay?user=ann"
                #expect(why.elements.contains { $0["href"] == replay })
            }
            let recent = try await browser.scan("/people?user=bob").links("/people?event=\(event)")
            #expect(recent == ["/people?event=\(event)&user=bob#why"])
            #expect(try await browser.scan("/people?user=bob&event=\(event)").text.contains("accepted by shop/r"))
            let none = try await browser.scan("/people?user=ann&event=lost")
            #expect(none.text.contains("No recent event has this key"))
            #expect(try await browser.scan("/people?user=ann&event=77").text.contains("There is no event 77"))
        }
    }

    @Test func aWordLeadsToThePageThatFits() async throws {
        try await APIWorld.with { api in
            let browser = try await api.console()
            let devices = try await api.devices("ann", "a/b c")
            let event = try await api.logged("order", key: "'order-1'")[0]
            _ = try await api.rows(
                "INSERT INTO fanfare.event_keys VALUES ('order', 'order-1', \(event), now()), ('other', 'ann', \(event), now())"
            )
            for (word, target) in [
                ("\(event)", "/events/\(event)"), ("+order-1+", "/events/\(event)"),
                ("a%2Fb%20c", "/people?user=a%2Fb%20c"),
                ("\(devices[1])", "/devices/\(devices[1])"),
            ] {
                #expect(try await browser.page("/find?q=\(word)").location == target, "\(word)")
            }
            try await api.rule("r", for: "order")
            try await api.batch(event, devices, [1, 1])
            let made = try await api.rows(
                """
                SELECT (extract(epoch FROM created_at) * 1000000)::bigint::text, (SELECT min(id)::text FROM fanfare.rules)
                FROM fanfare.event_log
                """
            )
            let push = DeliveryID(
                event: EventID(rawValue: event),
                createdAt: Int64(made[0][0] ?? "") ?? 0,
                ruleID: Int64(made[0][1] ?? "") ?? 0,
                deviceID: devices[0]
            )
            let found = try await browser.page("/find?q=\(push.text.uppercased())")
            #expect(found.location == "/people?app=shop&event=\(event)&user=ann")
            let two = try await browser.scan("/find?q=ann")
            #expect(two.links("/people?user=ann").count == 1 && two.links("/events/\(event)").count == 1)
            for word in ["", "%3Cscript%3E", "018f2c4e-1111-8222-9333-444455556666"] {
                #expect(try await browser.page("/find?q=\(word)").status == 200, "\(word)")
            }
            #expect(
                try await ConsoleClient(api: api, cookie: nil).page("/find?q=1").location
                    == "/login?back=%2Ffind%3Fq%3D1"
            )
        }
    }
}
