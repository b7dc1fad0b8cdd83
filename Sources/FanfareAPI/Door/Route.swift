internal import FanfareCore
internal import HTTPTypes

/// One thing that can be asked.
struct Route: Sendable {
    let method: HTTPRequest.Method
    /// As in the OpenAPI document: `/v1/events/{id}`.
    let path: String
    /// What a token must allow; nil where anybody may ask.
    let scope: TokenScope?
    /// Does it.
    let handle: @Sendable (Call) async throws -> Answer

    /// Describes a route.
    ///
    /// - Parameters:
    ///   - method: its method.
    ///   - path: with names in braces for what differs.
    ///   - scope: what a token must allow; nil for nothing.
    ///   - handle: does it.
    init(
        _ method: HTTPRequest.Method,
        _ path: String,
        _ scope: TokenScope?,
        _ handle: @escaping @Sendable (Call) async throws -> Answer
    ) {
        (self.method, self.path, self.scope, self.handle) = (method, path, scope, handle)
    }

    /// Where clients' changes come with a body.
    var takesBody: Bool { [.post, .put, .patch].contains(method) }
}
