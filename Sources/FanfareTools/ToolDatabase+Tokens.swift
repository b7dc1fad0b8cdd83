internal import PostgresClient

/// Which of an app's devices at FCM are meant.
public struct FCMDeviceFilter: Sendable {
    /// The app.
    public var app: String
    /// Subscribers of this topic of Fanfare's; nil for all.
    public var topic: String?
    /// Devices of these users; nil for all.
    public var users: [String]?

    /// All of an app's devices.
    ///
    /// - Parameter app: the app.
    public init(app: String) {
        self.app = app
    }
}

extension ToolDatabase {
    /// How many tokens are read at once: what one call to FCM's topic management takes.
    static let tokenPage: Int64 = 1000

    /// Goes through the tokens of enabled devices, a thousand at a time, so that memory stays flat.
    ///
    /// - Parameters:
    ///   - filter: which.
    ///   - body: gets each page; no session is open meanwhile.
    /// - Throws: ``ToolError``, also what `body` throws.
    public func forEachToken(
        _ filter: FCMDeviceFilter,
        _ body: ([String]) throws(ToolError) -> Void
    ) throws(ToolError) {
        var after: Int64 = 0
        while true {
            let statement = ListTokens(filter: filter, after: after, limit: Self.tokenPage)
            let page = try run { connection throws(PostgresError) in try connection.run(statement) }
            guard let last = page.last else { return }
            try body(page.map(\.token))
            after = last.id
        }
    }
}

/// One page of FCM tokens, by device id.
struct ListTokens: PostgresStatement {
    static let name = "list_tokens"
    static let sql = """
        SELECT d.id, d.token
        FROM fanfare.devices AS d
        WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1)
            AND d.platform = 'fcm' AND d.kind = 'device' AND d.disabled_at IS NULL AND d.id > $4
            AND ($3::text[] IS NULL OR d.user_id = ANY ($3))
            AND ($2::text IS NULL OR EXISTS (
                SELECT FROM fanfare.subscriptions AS s JOIN fanfare.topics AS t ON t.id = s.topic_id
                WHERE s.device_id = d.id AND t.name = $2))
        ORDER BY d.id
        LIMIT $5
        """

    let filter: FCMDeviceFilter
    let after: Int64
    let limit: Int64

    func bind(to binds: inout PostgresBinds) {
        binds.append(filter.app)
        binds.append(filter.topic)
        binds.append(filter.users)
        binds.append(after)
        binds.append(limit)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (id: Int64, token: String) {
        (try row.int64(0), try row.string(1))
    }
}
