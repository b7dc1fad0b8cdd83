public import FanfareCore
internal import FanfareProviders
internal import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// The number of tokens in a page, which is the limit of one call to FCM's topic management.
    static let tokenPage: Int64 = 1000

    /// Reads the tokens of enabled devices, a thousand at a time, in constant memory.
    ///
    /// - Parameters:
    ///   - filter: selects the devices.
    ///   - body: receives each page; the session is free meanwhile.
    /// - Throws: ``ToolError``, and errors of `body`.
    public func forEachToken(
        _ filter: FCMDeviceFilter,
        _ body: ([String]) async throws(ToolError) -> Void
    ) async throws(ToolError) {
        var after: Int64 = 0
        while true {
            let statement = SQL.listTokens(filter.app, filter.topic, filter.users, after, Self.tokenPage)
            let page = try await rows(of: statement)
            guard let last = page.last else { return }
            try await body(page.map(\.token))
            after = last.id
        }
    }
}
