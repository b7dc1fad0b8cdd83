internal import FanfareConsoleView
internal import FanfareCore
internal import FanfareDaemon
internal import FanfareHTTP
internal import FanfareLogging
internal import FanfareStore
internal import FanfareTools
internal import HTTPTypes
internal import Logging
internal import PostgresClient
internal import Threading

extension Call {
    /// Answers a browser: requests without a session are redirected to the login, and errors are pages.
    ///
    /// - Parameter work: returns the response.
    /// - Returns: the response.
    func asPage(_ work: () async throws -> Answer) async -> Answer {
        do {
            return try await work()
        } catch is LoginNeeded {
            return .redirect(to: PageAddress("/login", ["back": PageAddress(path, query).text]).text, self)
        } catch {
            let problem = Problem(error)
            if problem.code == .failed {
                context.daemon.logger.error(
                    "a page could not be rendered",
                    metadata: .init([.requestID: "\(requestID)", .error: "\(error)"])
                )
            }
            return await failure(problem)
        }
    }

    /// Reads the form in the request's body.
    ///
    /// - Returns: the fields; of a repeated name the last value.
    /// - Throws: a ``Problem`` if it was sent by a page of another origin, or is no form.
    func form() throws -> [String: String] {
        // Browsers without `Sec-Fetch-Site` send the origin of the form.
        if let site = headers[.secFetchSite] {
            guard site == "same-origin" else { throw Self.foreign }
        } else if let origin = headers[.origin] {
            let host = origin.split(separator: "/", omittingEmptySubsequences: false).last.map(String.init)
            guard host != nil, host == authority else { throw Self.foreign }
        }
        guard (headers[.contentType] ?? "").prefix(while: { $0 != ";" }) == "application/x-www-form-urlencoded" else {
            throw Problem(.unsupportedType, "the body is not a form")
        }
        return Call.values(in: String(decoding: body, as: UTF8.self))
    }

    /// Whether a proxy's headers show that the request was forwarded.
    ///
    /// A proxy on this host that sets none cannot be distinguished from a browser.
    var isForwarded: Bool {
        headers.contains { field in
            let name = field.name.canonicalName
            return name.hasPrefix("x-forwarded-") || ["forwarded", "via", "x-real-ip"].contains(name)
        }
    }

    private static let foreign = Problem(
        .forbidden,
        "the form was sent from another site",
        hint: "Reload the console's page and send it from there."
    )

    private func failure(_ problem: Problem) async -> Answer {
        let session = try? await ConsoleSession.find(self)
        let page = ErrorPage(
            frame: Frame(
                problem.code.title,
                self,
                pages: session == nil ? [] : NavigationItem.all(current: path, nil),
                viewer: session?.viewer
            ),
            status: "\(problem.code.status.code)",
            heading: problem.code.title,
            words: problem.detail,
            steps: problem.hint.isEmpty ? [] : [HealthStep(words: problem.hint)],
            requestID: requestID,
            again: problem.code.status.kind == .serverError ? PageAddress(path, query).text : nil
        )
        var answer = Answer.page(Console.templates.render("error", page), problem.code.status)
        answer.headers.append(contentsOf: problem.headers)
        if let retryAfter = problem.retryAfter { answer.headers[.retryAfter] = String(retryAfter) }
        return answer
    }
}

extension Route {
    /// Creates a route of a page, whose errors are pages too.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - handle: handles a request.
    /// - Returns: the route.
    static func page(_ path: String, _ handle: @escaping @Sendable (Call) async throws -> Answer) -> Route {
        Route(.get, path, nil) { call in await call.asPage { try await handle(call) } }
    }

    /// Creates a route that a form is sent to.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - strangersBody: how many bytes are read whether or not there is a session; by default, none are read without one.
    ///   - handle: handles a request.
    /// - Returns: the route.
    static func form(
        _ path: String,
        strangersBody: Int? = nil,
        _ handle: @escaping @Sendable (Call) async throws -> Answer
    ) -> Route {
        Route(.post, path, nil) { call in
            await call.asPage { try await handle(call) }
        } bodyLimit: { call in
            if let strangersBody { return strangersBody }
            return (try? await ConsoleSession.find(call)) == nil ? 0 : largestBody
        }
    }
}

extension Answer {
    /// Returns a page.
    ///
    /// - Parameters:
    ///   - html: HTML from this program's templates.
    ///   - status: the HTTP status.
    /// - Returns: the response with the console's security headers.
    static func page(_ html: String, _ status: HTTPResponse.Status = .ok) -> Answer {
        var answer = Answer(status, Array(html.utf8), type: "text/html; charset=utf-8")
        answer.headers[.contentSecurityPolicy] = ConsoleAssets.securityPolicy
        // A page's address may name a user. Not `no-referrer`: without TLS a form's origin would be `null` then.
        answer.headers[.referrerPolicy] = "same-origin"
        answer.headers[.crossOriginOpenerPolicy] = "same-origin"
        answer.headers[.crossOriginResourcePolicy] = "same-origin"
        return answer
    }

    /// Redirects the browser to another page by GET.
    ///
    /// - Parameters:
    ///   - path: a path of the console, without the base path.
    ///   - call: the request.
    /// - Returns: a response with status 303.
    static func redirect(to path: String, _ call: Call) -> Answer {
        var answer = Answer(.seeOther, [], type: "text/plain")
        answer.headers[.location] = call.context.basePath + path
        answer.headers[.referrerPolicy] = "same-origin"
        return answer
    }
}

extension HTTPField.Name {
    static let referrerPolicy = known("Referrer-Policy")
    static let crossOriginOpenerPolicy = known("Cross-Origin-Opener-Policy")
    static let secFetchSite = known("Sec-Fetch-Site")
    static let forwardedProtocol = known("X-Forwarded-Proto")
}

/// An error and its fix.
struct ErrorPage: ViewContext {
    let frame: Frame
    /// The HTTP status, such as `404`.
    let status: String
    let heading: String
    let words: String
    let steps: [HealthStep]
    /// The request's id in the log.
    let requestID: String
    let again: String?
}
