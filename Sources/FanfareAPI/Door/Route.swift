internal import FanfareCore
internal import HTTPTypes

/// One thing that can be asked.
struct Route: Sendable {
    let method: HTTPRequest.Method
    /// As in the OpenAPI document: `/v1/events/{id}`.
    let path: String
    /// What a token must allow; nil where anybody may ask.
    let scope: TokenScope?
    /// Whether a phone may ask with a token of its app's backend, about its own user: what ``handle`` then sees to.
    let isForPhones: Bool
    /// How many bytes of a form are read when the request has no session.
    let strangersBody: Int
    /// Does it.
    let handle: @Sendable (Call) async throws -> Answer

    /// Describes a route.
    ///
    /// - Parameters:
    ///   - method: its method.
    ///   - path: with names in braces for what differs.
    ///   - scope: what a token must allow; nil for nothing.
    ///   - isForPhones: whether a phone may ask, about its own user.
    ///   - strangersBody: how many bytes of a form are read without a session.
    ///   - handle: does it.
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

    /// Where clients' changes come with a body.
    var takesBody: Bool { [.post, .put, .patch].contains(method) }
}
