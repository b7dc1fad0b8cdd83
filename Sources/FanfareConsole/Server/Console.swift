internal import FanfareConsoleView
package import FanfareHTTP
internal import HTTPTypes

/// The web console: pages for operators and campaign owners, at the root of the API's listener.
///
/// Every page can be read without a script. Each action is confirmed first, and then done by the API's own call: with
/// the token's rights and a row in `fanfare.actions`.
package enum Console {
    /// The templates, parsed once at first use; an invalid template fails the test of every page.
    static let templates: ConsoleTemplates = {
        do {
            return try ConsoleTemplates(ConsoleAssets.sources)
        } catch {
            preconditionFailure("a template of the console cannot be read: \(error)")
        }
    }()

    /// The pages, in the order of the navigation.
    static let pages: [ConsolePage] = [
        .overview, .events, .event, .upcoming, .person, .devices, .device, .rules, .rule, .campaigns, .campaign,
        .providers,
    ]

    /// The actions, each with its confirmation page.
    static let actions: [ConsoleAction] =
        [.cancelEvent, .cancelEvents, .cancelScheduled, .retractEvent, .replayEvent, .restoreDevices]
        + ConsoleAction.campaigns

    /// Returns all routes of the console.
    package static func routes() -> [Route] {
        let queries = ConsoleQueries()
        let shown = pages.map { page in
            Route.page(page.path) { .page(try await page.html(for: Visit($0, queries, isStreamed: page.isStreamed))) }
        }
        return [login, logIn, logOut, stream(queries), find(queries), ruleTrial(queries)] + assets + shown
            + actions.flatMap { $0.routes(queries) }
    }

    /// Returns the page for an unknown path that a browser asks for.
    ///
    /// - Parameter call: the request.
    /// - Returns: the page; nil for API clients, which do not ask for HTML, and use paths below `/v1`.
    package static func page(forUnknown call: Call) async -> Answer? {
        guard call.method == .get, !call.path.hasPrefix("/v1"), call.headers[.accept]?.contains("text/html") == true
        else { return nil }
        return await call.asPage {
            throw Problem(.absent, "there is no page at this address", hint: "Use the navigation.")
        }
    }

    private static let assets: [Route] = [
        asset("console.css", ConsoleAssets.styleSheet, "text/css; charset=utf-8"),
        asset("console.js", ConsoleAssets.script, "text/javascript; charset=utf-8"),
        asset("icon.svg", ConsoleAssets.icon, "image/svg+xml"),
    ]

    private static func asset(_ name: String, _ bytes: [UInt8], _ type: String) -> Route {
        Route(.get, "/console/\(name)", nil) { _ in
            var answer = Answer(.ok, bytes, type: type)
            // The address changes with the content.
            answer.headers[.cacheControl] = "public, max-age=31536000, immutable"
            return answer
        }
    }
}
