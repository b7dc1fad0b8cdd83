import BrowserKit
import TestKit
import Testing

extension ConsoleTests {
    @Test func aCampaignIsPausedResumedAndAbortedByHand() async throws {
        try await Browser.with { browser in
            _ = try await dev.startHeldCampaign("by-hand", browser)
            try await browser.logIn(dev)
            try await browser.follow("#live-campaigns a[href='/campaigns/demo/by-hand']", to: "by-hand")

            // Cancelling the confirmation changes nothing.
            try await browser.follow(".actions a[href$='/pause']", to: "Pause by-hand?")
            try await browser.follow(".ask a.quiet", to: "by-hand")
            #expect(try await state() == "active")

            try await change("Pause", because: "the price is wrong", browser)
            try await browser.wait(for: ".notice", toSay: "The campaign is paused.")
            #expect(try await browser.find(".lead .badge").text == "paused")
            #expect(try await state() == "paused")

            try await change("Resume", because: "the price is \"right\" <now>", browser)
            try await browser.wait(for: ".notice", toSay: "The campaign is resumed.")
            #expect(try await browser.find(".lead .badge").text == "held by its canary")
            #expect(try await state() == "active")

            try await change("Abort", because: "it is over", browser)
            try await browser.wait(for: ".notice", toSay: "The campaign is aborted.")
            // Without a reload: the pending deliveries are recorded as cancelled, and no run is in progress any more.
            try await browser.wait(for: ".lead", toHold: "The last run was aborted by dev")
            let progress = try await dev.progress(of: "by-hand")
            #expect(progress["state"] == "aborted")
            #expect(progress["attempts"].elements.contains { $0["outcome"] == "cancelled" })
            #expect(progress["left"] == 0)

            let audit = try await dev.rows(
                "SELECT actor, action, reason FROM fanfare.actions WHERE target = 'demo/by-hand' AND reason IS NOT NULL ORDER BY id"
            )
            #expect(
                audit == [
                    ["dev", "campaign.pause", "the price is wrong"],
                    ["dev", "campaign.resume", "the price is \"right\" <now>"],
                    ["dev", "campaign.abort", "it is over"],
                ]
            )
            try await browser.expectNoComplaint()
        }
    }

    private func left() async throws -> Int {
        try #require(try await dev.progress(of: "by-hand")["left"].integer)
    }

    private func state() async throws -> JSON {
        try await dev.ask("GET", "/v1/apps/demo/campaigns/by-hand")["state"]
    }

    /// Opens the confirmation of an action, reads it, and confirms.
    private func change(_ verb: String, because reason: String, _ browser: Browser) async throws {
        let before = try await left()
        try await browser.follow(".actions a[href$='/\(verb.lowercased())']", to: "\(verb) by-hand?")
        let shown = try await browser.find(".how-many").text
        let count = try #require(Int(shown.prefix(while: \.isNumber)))
        // The last answers of the canary may arrive meanwhile.
        let after = try await left()
        #expect(count > 0 && after...before ~= count)
        #expect(shown.contains("not sent yet"))
        try await browser.find("#f-reason").type(reason)
        let button = try await browser.find(".ask button[type=submit]")
        #expect(try await button.text == verb)
        try await button.click()
    }
}
