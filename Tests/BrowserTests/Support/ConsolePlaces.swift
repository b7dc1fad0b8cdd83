import BrowserKit
import TestKit

/// Where each page of the console is, once there is something to be seen on it.
struct ConsolePlaces {
    /// Addresses without the origin.
    let paths: [String]

    /// Has something of everything: a campaign that is held, pushes of it, and a rule that cannot be.
    ///
    /// - Parameters:
    ///   - name: of the campaign.
    ///   - dev: whose console.
    ///   - browser: waits.
    /// - Throws: what the API says.
    init(_ name: String, _ dev: DevProcess, _ browser: Browser) async throws {
        let event = try await dev.startHeldCampaign(name, browser)
        try await dev.shipOrder(of: "carol")
        _ = try await dev.ask("PUT", "/v1/apps/demo/users/carol/preferences/offers", ["opted_out": true])
        paths = [
            "/", "/events", "/events?type=no.such", "/events/\(event)", "/events/\(event)?show=variants",
            "/events/\(event)/replay", "/people", "/people?user=carol", "/people?user=alice&app=demo&event=\(event)",
            "/devices", "/devices/1", "/rules", "/rules/demo/order-shipped", "/campaigns", "/campaigns/demo/\(name)",
            "/campaigns/demo/\(name)/abort", "/providers", "/find?q=nothing", "/login",
        ]
    }
}
