package import FanfareCore
package import PostgresClient

/// Reads one page of FCM tokens, by device id.
package struct ListTokens: PostgresStatement {
    package static let name = "list_tokens"
    package static let sql = """
        SELECT d.id, d.token
        FROM fanfare.devices AS d
        WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1)
            AND d.provider = 'fcm' AND d.kind = 'device' AND d.disabled_at IS NULL AND d.id > $4
            AND ($3::text[] IS NULL OR d.user_id = ANY ($3))
            AND ($2::text IS NULL OR EXISTS (
                SELECT FROM fanfare.subscriptions AS s JOIN fanfare.topics AS t ON t.id = s.topic_id
                WHERE s.device_id = d.id AND t.name = $2))
        ORDER BY d.id
        LIMIT $5
        """

    package let filter: FCMDeviceFilter
    package let after: Int64
    package let limit: Int64

    package init(filter: FCMDeviceFilter, after: Int64, limit: Int64) {
        self.filter = filter
        self.after = after
        self.limit = limit
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(filter.app)
        binds.append(filter.topic)
        binds.append(filter.users)
        binds.append(after)
        binds.append(limit)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (id: Int64, token: String) {
        (try row.int64(0), try row.string(1))
    }
}
