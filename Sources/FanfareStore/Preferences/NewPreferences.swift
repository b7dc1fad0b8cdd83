package import PostgresClient

extension SQL {
    /// Reads the apps with changed user preferences since the last query, by transactions as in ``NewCancels``.
    ///
    /// Binds: since.
    package static let newPreferences = Statement<(seen: String, app: String?), String?>(
        "new_preferences",
        """
        SELECT look.at::text, n.app
        FROM (SELECT pg_current_snapshot() AS at) AS look
        LEFT JOIN LATERAL (
            SELECT DISTINCT a.name AS app
            FROM fanfare.preferences AS p JOIN fanfare.apps AS a ON a.id = p.app_id
            WHERE \(isNewSQL("p.xid", since: "$1"))
        ) AS n ON true
        """,
        row: { ($0, $1) }
    )
}
