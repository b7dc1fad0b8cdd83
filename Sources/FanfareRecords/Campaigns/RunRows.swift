package import PostgresClient

/// One run of a campaign, with its state.
package struct RunRow: Sendable {
    package let id: Int64
    package let scheduledAt: Timestamp
    package let eventID: Int64?
    package let state: String
    package let detail: String?
}

extension SQL {
    /// Reads the last runs of a campaign, the newest first.
    ///
    /// Binds: app, name, limit.
    package static let lastRuns = Statement<RunRow, String, String, Int32>(
        "last_runs",
        """
        SELECT o.id, o.scheduled_at, o.event_id, o.state, o.detail
        FROM fanfare.runs AS o
        WHERE o.campaign_id = (
            SELECT c.id FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
            WHERE a.name = $1 AND c.name = $2 AND c.dropped_at IS NULL)
            AND o.test_users IS NULL
        ORDER BY o.scheduled_at DESC
        LIMIT $3::int
        """
    ) { row throws(PostgresError) in
        try RunRow(row)
    }

    /// Finds a run by its id.
    ///
    /// Binds: id.
    package static let findRun = Statement<RunRow, Int64>(
        "find_run",
        """
        SELECT o.id, o.scheduled_at, o.event_id, o.state, o.detail FROM fanfare.runs AS o WHERE o.id = $1::bigint
        """
    ) { row throws(PostgresError) in
        try RunRow(row)
    }

    /// Finds the test run of a campaign with a query; no row if the campaign has none.
    ///
    /// Binds: eventID.
    package static let findTrial = Statement<RunRow, Int64>(
        "find_trial",
        """
        SELECT o.id, o.scheduled_at, o.event_id, o.state, o.detail FROM fanfare.runs AS o
        WHERE o.event_id = $1::bigint AND o.test_users IS NOT NULL
        """
    ) { row throws(PostgresError) in
        try RunRow(row)
    }
}

extension RunRow {
    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        id = try row.int64(0)
        scheduledAt = try row.timestamp(1)
        eventID = try row.int64(orNil: 2)
        state = try row.string(3)
        detail = try row.string(orNil: 4)
    }
}
