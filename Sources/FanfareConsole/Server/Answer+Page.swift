internal import FanfareHTTP
internal import HTTPTypes

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
