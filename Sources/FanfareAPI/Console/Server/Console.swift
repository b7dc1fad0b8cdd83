internal import HTTPTypes
internal import HummingbirdCore

/// The web console: pages for operators and for who owns campaigns, at the root of the API's listener.
///
/// Everything can be read without a script. What changes something is asked about first, and is the API's own call, so that it is done
/// with the token's rights and has its row in the table of actions.
enum Console {
    /// Parsed once, with the program: one that is no template is a mistake that every test of a page finds.
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

    /// What changes something, each with the page that asks first.
    static let actions: [ConsoleAction] =
        [.cancelEvent, .cancelEvents, .replayEvent, .restoreDevices] + ConsoleAction.campaigns

    /// Everything that can be asked.
    static let routes: [Route] =
        [login, logIn, logOut, stream, find, ruleTrial] + assets + pages.map(Route.init(page:))
        + actions.flatMap(\.routes)

    /// Whether a path that there is not was asked for by a person: an API's client asks for no HTML, and stays below `/v1`.
    ///
    /// - Parameters:
    ///   - request: for that path.
    ///   - path: without the base path.
    /// - Returns: whether a page answers it.
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
            // Its address changes with it.
            answer.headers[.cacheControl] = "public, max-age=31536000, immutable"
            return answer
        }
    }
}

extension Route {
    /// A page: who has no session is sent to log in, and what went wrong is a page too.
    fileprivate init(page: ConsolePage) {
        self.init(.get, page.path, nil) { call in
            await call.asPage {
                let visit = try await Visit(call, kind: page.kind)
                return .page(try await page.html(for: visit))
            }
        }
    }
}
