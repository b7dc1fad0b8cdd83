package import PostgresClient

extension SQL {
    /// The enabled FCM devices of an app, after an id, as a FROM clause with its conditions.
    ///
    /// Binds: app, topic, users, after.
    private static let fcmDevices = """
        FROM fanfare.devices AS d
        WHERE d.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1)
            AND d.provider = 'fcm' AND d.kind = 'device' AND d.disabled_at IS NULL AND d.id > $4
            AND ($3::text[] IS NULL OR d.user_id = ANY ($3))
            AND ($2::text IS NULL OR EXISTS (
                SELECT FROM fanfare.subscriptions AS s JOIN fanfare.topics AS t ON t.id = s.topic_id
                WHERE s.device_id = d.id AND t.name = $2))
        """

    /// Reads one page of FCM tokens, by device id.
    ///
    /// Binds: filter app, filter topic, filter users, after, limit.
    package static let listTokens = Statement<(id: Int64, token: String), String?, String?, [String]?, Int64, Int64>(
        "list_tokens",
        """
        SELECT d.id, d.token
        \(fcmDevices)
        ORDER BY d.id
        LIMIT $5
        """,
        row: { ($0, $1) }
    )

    /// Counts the FCM devices after an id.
    ///
    /// Binds: filter app, filter topic, filter users, after.
    package static let countTokens = Statement<Int64, String?, String?, [String]?, Int64>(
        "count_tokens",
        """
        SELECT count(*)
        \(fcmDevices)
        """,
        row: { $0 }
    )
}
