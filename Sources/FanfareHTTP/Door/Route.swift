package import FanfareCore
package import HTTPTypes

/// One method of one path.
package struct Route: Sendable {
    /// The largest body, in bytes.
    package static let largestBody = 1 << 20

    let method: HTTPRequest.Method
    /// The path as in the OpenAPI document: `/v1/events/{id}`.
    package let path: String
    /// The scope that a token needs; nil if no token is needed.
    let scope: TokenScope?
    /// Whether phone tokens of an app's backend are accepted; ``handle`` then limits the request to the token's user.
    let isForPhones: Bool
    /// Returns how many bytes of a request's body are read.
    let bodyLimit: @Sendable (Call) async -> Int
    /// Handles a request.
    let handle: @Sendable (Call) async throws -> Answer

    /// Creates a route.
    ///
    /// - Parameters:
    ///   - method: its method.
    ///   - path: the path, with names in braces for its variable segments.
    ///   - scope: the scope that a token needs; nil if no token is needed.
    ///   - isForPhones: whether phone tokens are accepted.
    ///   - handle: handles a request.
    ///   - bodyLimit: returns how many bytes of a request's body are read; by default none if no token is needed.
    package init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ scope: TokenScope?,
        forPhones isForPhones: Bool = false,
        _ handle: @escaping @Sendable (Call) async throws -> Answer,
        bodyLimit: (@Sendable (Call) async -> Int)? = nil
    ) {
        (self.method, self.path, self.scope, self.handle) = (method, path, scope, handle)
        self.isForPhones = isForPhones
        self.bodyLimit = bodyLimit ?? { _ in scope == nil ? 0 : Self.largestBody }
    }

    /// Whether requests of this method have a body.
    var takesBody: Bool { [.post, .put, .patch].contains(method) }
}
