import BrowserKit
import TestKit
import Testing

extension ConsoleTests {
    @Test func whatHappensAppearsWithoutAReload() async throws {
        try await Browser.with { browser in
            try await browser.logIn(dev)
            try await stay(browser)
            let event = try await dev.startHeldCampaign("seen", browser)
            try await browser.wait(for: "#live-campaigns", toHold: "seen")
            try await expectStayed(browser)

            // The pending pushes of an event whose page is open.
            try await browser.open("\(dev.api)/events/\(event)")
            try await stay(browser)
            try await browser.wait(for: "#live-head .badge", toSay: "sending")
            _ = try await dev.ask("POST", "/v1/apps/demo/campaigns/seen/abort", [:])
            try await browser.wait(for: "#live-outcomes", toHold: "cancelled")
            try await expectStayed(browser)
            try await browser.expectNoComplaint()
        }
    }

    @Test func updatesWaitWhileTheyArePaused() async throws {
        try await Browser.with { browser in
            try await browser.logIn(dev)
            try await browser.open(dev.api + "/events")
            try await browser.wait(for: "#live-words", toSay: "Live")
            try await stay(browser)
            try await dev.shipOrder(of: "bob")
            try await browser.wait(for: "#live-rows tr:first-child", toHold: "order.updated")

            try await browser.click("#live-button")
            try await browser.wait(for: "#live-button", toSay: "Resume updates")
            let before = try await browser.findAll("#live-rows tr").count
            let event = try await dev.emit("page.viewed", key: "while-paused")
            try await browser.wait(for: "#live-words", toHold: "1 update waits")
            #expect(try await browser.find("#live-words").text.hasPrefix("Paused at "))
            #expect(try await browser.findAll("#event-\(event)").isEmpty)
            #expect(try await browser.findAll("#live-rows tr").count == before)

            try await browser.click("#live-button")
            try await browser.wait(for: "#live-words", toSay: "Live")
            try await browser.wait(for: "#event-\(event)", toHold: "while-paused")
            try await expectStayed(browser)
        }
    }

    @Test func anUpdateLeavesFocusAndWhatIsOpenAlone() async throws {
        try await Browser.with { browser in
            try await browser.logIn(dev)
            try await browser.click("#checks summary")
            let looked = "return document.querySelector('#live-health header time').dateTime"
            let before = try await browser.run(looked)
            try await browser.wait(for: "another look at health") {
                try await browser.run(looked) == before ? nil : true
            }
            let kept = "return [document.activeElement.textContent, document.querySelector('#checks').open]"
            #expect(try await browser.run(kept) == ["Show checks", true])

            // A row keeps the focus when others are inserted above it.
            let old = try await dev.emit("page.viewed", key: "old")
            try await browser.open(dev.api + "/events")
            _ = try await browser.find("#event-\(old) a")
            _ = try await browser.run("document.querySelector('#event-\(old) a').focus()")
            let new = try await dev.emit("page.viewed", key: "new")
            _ = try await browser.find("#event-\(new) a")
            #expect(try await browser.run("return document.activeElement.closest('tr').id") == .string("event-\(old)"))
        }
    }

    /// Sets a mark in the page that a reload would remove.
    private func stay(_ browser: Browser) async throws {
        _ = try await browser.run("window.stayed = true")
    }

    private func expectStayed(_ browser: Browser) async throws {
        #expect(try await browser.run("return window.stayed") == true)
    }
}
