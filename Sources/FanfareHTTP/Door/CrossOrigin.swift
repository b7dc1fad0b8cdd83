internal import HTTPTypes
internal import HummingbirdCore

/// The CORS headers of the response to one request: they let pages of `api.origins` send the requests of phones.
///
/// Tokens are sent in a header and never in a cookie, so no response allows credentials.
struct CrossOrigin {
    /// The methods of the path that phones and report keys may call; empty if CORS does not concern the path.
    private let methods: [HTTPRequest.Method]
    /// The origin of the page that sends the request, or asks whether it may; nil if it is not listed, and for others.
    private let origin: String?
    private let isPreflight: Bool

    /// Determines the headers for a request.
    ///
    /// - Parameters:
    ///   - request: the request.
    ///   - origins: the listed origins.
    ///   - methods: returns the methods of the path that phones and report keys may call.
    init(_ request: Request, _ origins: [String], methods: () -> [HTTPRequest.Method]) {
        let methods = origins.isEmpty ? [] : methods()
        isPreflight = request.method == .options && request.headers[.accessControlRequestMethod] != nil
        // Browsers send GET and POST even if the preflight does not list them, so responses to backends' methods get no
        // header either.
        let isForPages = isPreflight ? !methods.isEmpty : methods.contains(request.method)
        // Compared whole: an origin that begins or ends like a listed one is another site.
        origin = request.headers[.origin].flatMap { isForPages && origins.contains($0) ? $0 : nil }
        self.methods = methods
    }

    /// The response to a browser that asks whether a page may send a request; nil for other requests and other pages.
    var preflight: Answer? {
        guard isPreflight, origin != nil else { return nil }
        var answer = Answer.nothing
        answer.headers[.accessControlAllowMethods] = methods.map(\.rawValue).joined(separator: ", ")
        answer.headers[.accessControlAllowHeaders] = "authorization, content-type"
        answer.headers[.accessControlMaxAge] = "600"
        return answer
    }

    /// Adds the headers to a response, which may be an error.
    ///
    /// - Parameter answer: the response.
    func allow(_ answer: inout Answer) {
        // A cache must not return the response to one page's request to another page.
        if !methods.isEmpty { answer.headers[.vary] = "Origin" }
        guard let origin else { return }
        answer.headers[.accessControlAllowOrigin] = origin
        answer.headers[.accessControlExposeHeaders] = "Retry-After"
    }
}
