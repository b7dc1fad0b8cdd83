import FanfareCore
import FanfareStore
import TestKit
import Testing

@testable import APIKit

/// Tests of the uses that the console's configuration allows, beside the token's scopes.
@Suite(.database) struct ConsoleUseTests {
    @Test func itDoesWhatTheConfigurationNames() async throws {
        try await APIWorld.with("  console: [ read, replay ]\n") { api in
            let browser = try await api.console(.emitter, .operator)
            try await api.rule("r", for: "order")
            let event = try await api.logged("order")[0]
            let page = try await browser.scan("/events/\(event)")
            #expect(page.links("/events/").contains("/events/\(event)/replay"))
            #expect(!page.links("/events/").contains("/events/\(event)/cancel"))
            #expect(page.text.contains("not done from this console"))
            #expect(try await browser.page("/events/\(event)/replay").status == 200)
            let refused = try await browser.page("/events/\(event)/cancel")
            #expect(refused.status == 403 && refused.body.contains("this console does not cancel"))
            #expect(try await browser.send("/events/\(event)/cancel", [:]).status == 403)
            #expect(try await api.rows("SELECT 1 FROM fanfare.actions").isEmpty)
        }
    }

    @Test func withoutReadingThereIsNone() async throws {
        try await APIWorld.with("  console: []\n") { api in
            for path in ["/", "/login", "/events", "/console/console.css", "/console/stream?page=/"] {
                let reply = try await api.ask("GET", path)
                #expect(reply.status == 404, "\(path)")
            }
        }
    }
}
