internal import HTTPTypes

extension Answer {
    /// A page.
    ///
    /// - Parameters:
    ///   - html: of this program's templates.
    ///   - status: the status.
    /// - Returns: the answer with the console's policies.
    static func page(_ html: String, _ status: HTTPResponse.Status = .ok) -> Answer {
        var answer = Answer(status, Array(html.utf8), type: "text/html; charset=utf-8")
        answer.headers[.contentSecurityPolicy] = ConsoleAssets.securityPolicy
        // A page's address may hold whom it is about. Not "no-referrer": without TLS a form's origin were "null" then.
        answer.headers[.referrerPolicy] = "same-origin"
        answer.headers[.crossOriginOpenerPolicy] = "same-origin"
        answer.headers[.crossOriginResourcePolicy] = "same-origin"
        return answer
    }

    /// Sends the browser to another page, which it asks for by GET.
    ///
    /// - Parameters:
    ///   - path: of this console, without the base path.
    ///   - call: the request.
    /// - Returns: 303.
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

    private static func known(_ name: String) -> HTTPField.Name {
        guard let name = HTTPField.Name(name) else { preconditionFailure("\(name) is no name of a field") }
        return name
    }
}
