import BrowserKit
import TestKit
import Testing

extension ConsoleTests {
    @Test func everythingCanBeReadAndDoneWithoutScripts() async throws {
        try await Browser.with { browser in
            let held = try await dev.startHeldCampaign("unscripted", browser)
            let events = (1...70).map { JSON.object(["type": "page.counted", "key": .string("count-\($0)")]) }
            _ = try await dev.ask("POST", "/v1/events/batch", ["events": .array(events)])
            try await browser.setScripts(areOn: false)

            try await browser.open(dev.api + "/events")
            try await browser.wait(for: "h1", toSay: "Log in")
            try await browser.find("#f-token").type("no-token" + Key.enter)
            try await browser.wait(for: "#f-token-more .problem", toHold: "Invalid token")
            try await browser.find("#f-token").type(dev.token + Key.enter)
            // The page that was requested before the login.
            try await browser.wait(for: "h1", toSay: "Events")
            #expect(try await browser.find("#zone").text == "UTC")
            #expect(try await browser.find("#live").isVisible == false)

            try await browser.find("#f-type").type("page.counted")
            try await browser.click(".filter button[type=submit]")
            try await browser.wait(for: ".active li:first-child", toHold: "page.counted")
            try await expectEvents(50, browser)
            try await browser.click(".pager a[rel=next]")
            try await browser.wait(for: ".pager", toHold: "Newest")
            try await expectEvents(20, browser)

            try await browser.open("\(dev.api)/events/\(held)")
            try await browser.find("#f-user").type("alice" + Key.enter)
            try await browser.wait(for: "h1", toSay: "alice")
            try await browser.wait(for: "#why .notice", toHold: "campaign.demo.unscripted")
            #expect(try await browser.findAll("#why .story li").isEmpty == false)

            try await browser.follow("nav.pages a[href='/campaigns']", to: "Campaigns")
            try await browser.follow("#live-runs a[href='/campaigns/demo/unscripted/abort']", to: "Abort unscripted?")
            try await browser.find("#f-reason").type("no script" + Key.enter)
            try await browser.wait(for: ".notice", toSay: "The campaign is aborted.")
            let reasons = try await dev.rows(
                "SELECT reason FROM fanfare.actions WHERE target = 'demo/unscripted' AND reason IS NOT NULL"
            )
            #expect(reasons == [["no script"]])
        }
    }

    private func expectEvents(_ count: Int, _ browser: Browser) async throws {
        let rows = try await browser.findAll("#live-rows tr")
        #expect(rows.count == count)
        for row in rows where try await !row.text.hasPrefix("page.counted") { Issue.record("not only page.counted") }
    }
}
