package import PostgresClient

extension SQL {
    /// Reads one page of FCM tokens, by device id.
    ///
    /// Binds: filter app, filter topic, filter users, after, limit.
    package static let listTokens = Statement<(id: Int64, token: String), String?, String?, [String]?, Int64, Int64>(
        "list_tokens",
        """
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
        """,
        row: { ($0, $1) }
    )
}
