public import FanfareCore
internal import FanfareProviders
internal import FanfareStore
internal import PostgresClient

extension ToolDatabase {
    /// How many tokens are read at once: what one call to FCM's topic management takes.
    static let tokenPage: Int64 = 1000

    /// Goes through the tokens of enabled devices, a thousand at a time, so that memory stays flat.
    ///
    /// - Parameters:
    ///   - filter: which.
    ///   - body: gets each page; the session is free meanwhile.
    /// - Throws: ``ToolError``, also what `body` throws.
    public func forEachToken(
        _ filter: FCMDeviceFilter,
        _ body: ([String]) async throws(ToolError) -> Void
    ) async throws(ToolError) {
        var after: Int64 = 0
        while true {
            let statement = ListTokens(filter: filter, after: after, limit: Self.tokenPage)
            let page = try await run { connection throws(PostgresError) in try connection.run(statement) }
            guard let last = page.last else { return }
            try await body(page.map(\.token))
            after = last.id
        }
    }
}
