package import PostgresClient

/// A run.
package struct EventRunRow: Sendable {
    package let app: String
    package let campaign: String
    /// `querying`, `running`, `aborting`, `done`, `aborted` or `failed`.
    package let state: String
    /// The name of the token that aborted it; nil if it was not aborted, or aborted through SQL.
    package let abortedBy: String?

    /// Whether its unsent deliveries are cancelled.
    package var isAborted: Bool { state == "aborting" || state == "aborted" }
}

extension SQL {
    /// Finds the campaign run of an event; no row for other events.
    ///
    /// Binds: event.
    package static let eventRun = Statement<EventRunRow, Int64>(
        "event_run",
        """
        SELECT a.name, c.name, o.state, x.actor
        FROM fanfare.runs AS o
        JOIN fanfare.campaigns AS c ON c.id = o.campaign_id JOIN fanfare.apps AS a ON a.id = c.app_id
        LEFT JOIN LATERAL (
            SELECT d.actor FROM fanfare.actions AS d
            WHERE d.action = 'campaign.abort' AND d.action LIKE 'campaign.%' AND d.target COLLATE "C" = a.name || '/' || c.name AND d.at >= o.fired_at
            ORDER BY d.id LIMIT 1
        ) AS x ON o.state IN ('aborting', 'aborted')
        WHERE o.event_id = $1 AND o.test_users IS NULL
        """,
        row: EventRunRow.init
    )
}
