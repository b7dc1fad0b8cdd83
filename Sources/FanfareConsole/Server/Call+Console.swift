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
