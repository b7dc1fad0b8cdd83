internal import HTTPTypes
internal import HummingbirdCore

/// The web console: pages for operators and campaign owners, at the root of the API's listener.
///
/// Every page can be read without a script. Each action is confirmed first, and then done by the API's own call: with
/// the token's rights and a row in `fanfare.actions`.
enum Console {
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
        .overview, .events, .event, .person, .devices, .device, .rules, .rule, .campaigns, .campaign, .providers,
    ]

    /// The actions, each with its confirmation page.
    static let actions: [ConsoleAction] =
        [.cancelEvent, .cancelEvents, .replayEvent, .restoreDevices] + ConsoleAction.campaigns

    /// All routes of the console.
    static let routes: [Route] =
        [login, logIn, logOut, stream, find, ruleTrial] + assets + pages.map(Route.init(page:))
        + actions.flatMap(\.routes)

    /// Returns whether an unknown path was requested by a browser: API clients do not ask for HTML, and use paths below
    /// `/v1`.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - path: the path without the base path.
    /// - Returns: whether the response is a page.
    static func isForBrowser(_ request: Request, _ path: String) -> Bool {
        !path.hasPrefix("/v1") && request.headers[.accept]?.contains("text/html") == true
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

extension Route {
    /// Creates the route of a page: requests without a session are redirected to the login, and errors are pages.
    fileprivate init(page: ConsolePage) {
        self.init(.get, page.path, nil) { call in
            await call.asPage {
                let visit = try await Visit(call, kind: page.kind)
                return .page(try await page.html(for: visit))
            }
        }
    }
}
