internal import FanfareCore
internal import HTTPTypes

/// One method of one path.
struct Route: Sendable {
    let method: HTTPRequest.Method
    /// The path as in the OpenAPI document: `/v1/events/{id}`.
    let path: String
    /// The scope that a token needs; nil if no token is needed.
    let scope: TokenScope?
    /// Whether phone tokens of an app's backend are accepted; ``handle`` then limits the request to the token's user.
    let isForPhones: Bool
    /// How many bytes of a form are read if the request has no session.
    let strangersBody: Int
    /// Handles a request.
    let handle: @Sendable (Call) async throws -> Answer

    /// Creates a route.
    ///
    /// - Parameters:
    ///   - method: its method.
    ///   - path: the path, with names in braces for its variable segments.
    ///   - scope: the scope that a token needs; nil if no token is needed.
    ///   - isForPhones: whether phone tokens are accepted.
    ///   - strangersBody: how many bytes of a form are read if the request has no session.
    ///   - handle: handles a request.
    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ scope: TokenScope?,
        forPhones isForPhones: Bool = false,
        strangersBody: Int = 0,
        _ handle: @escaping @Sendable (Call) async throws -> Answer
    ) {
        (self.method, self.path, self.scope, self.handle) = (method, path, scope, handle)
        (self.isForPhones, self.strangersBody) = (isForPhones, strangersBody)
    }

    /// Whether requests of this method have a body.
    var takesBody: Bool { [.post, .put, .patch].contains(method) }
}
