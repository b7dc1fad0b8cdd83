import BrowserKit
import Foundation
import TestKit
import Testing

/// Tests of the web console in a real browser, with one `fanfare dev` that all tests share and fill.
@Suite(.serialized, .timeLimit(.minutes(10)), .dev)
struct ConsoleTests {
    let dev = DevProcess.current

    @Test func everyPageIsReachedByClicking() async throws {
        try await Browser.with { browser in
            _ = try await dev.startHeldCampaign("reached", browser)
            try await browser.logIn(dev)
            let pages = ["events", "people", "devices", "rules", "campaigns", "providers"]
            for page in pages {
                try await browser.follow("nav.pages a[href='/\(page)']", to: page.capitalized)
                #expect(try await browser.find("nav.pages [aria-current=page]").text.hasPrefix(page.capitalized))
                #expect(try await browser.title.hasPrefix(page.capitalized))
                try await browser.expectNoComplaint(page)
            }
            try await browser.follow("nav.pages a[href='/rules']", to: "Rules")
            try await browser.follow("a[href='/rules/demo/order-shipped']", to: "order-shipped")
            try await browser.follow(".from a", to: "Rules")

            try await browser.follow("nav.pages a[href='/campaigns']", to: "Campaigns")
            try await browser.follow("table a[href='/campaigns/demo/reached']", to: "reached")
            try await browser.follow(".facts a[href^='/events/']", to: "campaign.demo.reached")
            try await browser.follow("#live-deliveries a[href^='/devices/']", to: await firstDevice(browser))
            let user = try await browser.find(".facts a[href^='/people']").text
            try await browser.follow(".facts a[href^='/people']", to: user)
            let push = try await browser.find("#live-deliveries a[href^='/events/']").text
            try await browser.follow("#live-deliveries a[href^='/events/']", to: push)
            try await browser.expectNoComplaint("details")

            // The search opens the page of a match, or reports that there is none.
            try await browser.find("#find").type("carol" + Key.enter)
            try await browser.wait(for: "h1", toSay: "carol")
            try await browser.find("#find").type("nobody at all" + Key.enter, replacing: true)
            try await browser.wait(for: "h1", toSay: "Find")
            try await browser.wait(for: ".empty .title", toSay: "No results")
            try await browser.follow("a.brand", to: "Overview")
            try await browser.expectNoComplaint("find")

            try await browser.click("#who summary")
            try await browser.follow("#who button", to: "Log in")
            #expect(try await browser.cookies == [])
            try await browser.open(dev.api + "/rules")
            try await browser.wait(for: "h1", toSay: "Log in")
        }
    }

    private func firstDevice(_ browser: Browser) async throws -> String {
        let href = try await browser.find("#live-deliveries a[href^='/devices/']").attribute("href") ?? ""
        return "Device \(href.split(separator: "/").last ?? "")"
    }
}
