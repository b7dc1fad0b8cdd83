/// What a listener serves.
package struct Site: Sendable {
    /// The routes; if two match a path, the one with fewer names in braces wins.
    let routes: [Route]
    /// Answers a request whose path no route has.
    let unknown: @Sendable (Call) async throws -> Answer
    /// Ends the routes' streams, when a shutdown begins.
    let stop: @Sendable () -> Void
    /// Closes what the routes have opened, after the last answer.
    let close: @Sendable () async -> Void

    /// Creates a site.
    ///
    /// - Parameters:
    ///   - routes: the routes.
    ///   - unknown: answers a request whose path no route has.
    ///   - stop: ends the routes' streams, when a shutdown begins.
    ///   - close: closes what the routes have opened, after the last answer.
    package init(
        _ routes: [Route],
        unknown: @escaping @Sendable (Call) async throws -> Answer,
        stop: @escaping @Sendable () -> Void,
        close: @escaping @Sendable () async -> Void
    ) {
        (self.routes, self.unknown, self.stop, self.close) = (routes, unknown, stop, close)
    }
}
