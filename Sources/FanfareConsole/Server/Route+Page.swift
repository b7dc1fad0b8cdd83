internal import FanfareHTTP
internal import HTTPTypes

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
