import BrowserKit
import TestKit

/// The addresses of the console's pages, with data to show on each.
struct ConsolePlaces {
    /// The addresses without the origin.
    let paths: [String]

    /// Creates data for every page: a held campaign, its pushes, and a refused rule.
    ///
    /// - Parameters:
    ///   - name: the campaign's name.
    ///   - dev: the process whose console is tested.
    ///   - browser: the browser, whose waits are used.
    /// - Throws: the API's error.
    init(_ name: String, _ dev: DevProcess, _ browser: Browser) async throws {
        let event = try await dev.startHeldCampaign(name, browser)
        try await dev.shipOrder(of: "carol")
        _ = try await dev.ask("PUT", "/v1/apps/demo/users/carol/preferences/offers", ["opted_out": true])
        paths = [
            "/", "/events", "/events?type=no.such", "/events/\(event)", "/events/\(event)?show=variants",
            "/events/\(event)/replay", "/upcoming", "/people", "/people?user=carol",
            "/people?user=alice&app=demo&event=\(event)",
            "/devices", "/devices/1", "/rules", "/rules/demo/order-shipped", "/campaigns", "/campaigns/demo/\(name)",
            "/campaigns/demo/\(name)/abort", "/providers", "/find?q=nothing", "/login",
        ]
    }
}
