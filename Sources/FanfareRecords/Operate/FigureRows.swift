package import FanfareCore
internal import FanfareStore
package import PostgresClient

/// How long the oldest ready batch of one lane of one target has waited.
package struct ReadyAge: Sendable {
    package let app: String
    package let provider: String
    package let environment: String
    package let lane: Lane
    /// The time since its first batch was due; 0 if none is.
    package let seconds: Double
}

extension SQL {
    /// Reads the ages of ready batches: due, not claimed, and behind no gate that is closed or has a rate.
    ///
    /// There is one row for each target and lane.
    ///
    /// It looks up only the first batch of each place along the index, so a million waiting batches take no longer.
    package static let readyAges = Statement<ReadyAge>(
        "ready_ages",
        """
        WITH RECURSIVE
        -- 1. The gates behind which anything waits; NULL ends them.
        places AS (
            (SELECT b.gate_id FROM fanfare.batches AS b WHERE b.lease_token IS NULL ORDER BY b.gate_id LIMIT 1)
            UNION ALL
            SELECT (
                SELECT b.gate_id FROM fanfare.batches AS b
                WHERE b.lease_token IS NULL AND b.gate_id > p.gate_id ORDER BY b.gate_id LIMIT 1)
            FROM places AS p WHERE p.gate_id IS NOT NULL
        ),
        free AS MATERIALIZED (
            SELECT p.gate_id FROM places AS p WHERE \(QueueSQL.isOpen("p.gate_id", hasNoRate: true))
        )
        -- 2. What is due later is first where nothing is due.
        SELECT a.name, t.provider, t.environment, l.lane,
            greatest(coalesce(extract(epoch FROM clock_timestamp() - min(d.not_before)), 0), 0)::float8
        FROM fanfare.targets AS t
        JOIN fanfare.apps AS a ON a.id = t.app_id
        CROSS JOIN unnest(ARRAY[0, 1, 2]::smallint[]) AS l (lane)
        LEFT JOIN LATERAL (
            SELECT w.not_before
            FROM free AS f
            CROSS JOIN unnest(ARRAY[false, true]) AS r (is_retry)
            CROSS JOIN LATERAL (
                SELECT x.not_before FROM fanfare.batches AS x
                WHERE \(QueueSQL.waits("x", gate: "f.gate_id", target: "t.id", lane: "l.lane", isRetry: "r.is_retry"))
                ORDER BY x.not_before LIMIT 1
            ) AS w
        ) AS d ON true
        GROUP BY a.name, t.provider, t.environment, l.lane
        """
    ) { row throws(PostgresError) in
        ReadyAge(
            app: try row.string(0),
            provider: try row.string(1),
            environment: try row.string(2),
            lane: Lane(rawValue: try row.int16(3)) ?? .normal,
            seconds: try row.double(4)
        )
    }
}

/// The number of an app's unfinished campaign runs, by state.
package struct LiveCampaigns: Sendable {
    package let app: String
    /// The runs whose query is being executed, or waits for it.
    package let querying: Int64
    /// The sending runs that are not held.
    package let running: Int64
    /// The sending runs that are paused, or wait for their canary's verdict.
    package let held: Int64
    package let aborting: Int64
    /// The deliveries of sending runs that have not ended.
    package let remaining: Int64
}

extension SQL {
    /// Counts the unfinished runs of campaigns, by app; apps without a campaign are omitted.
    ///
    /// Finished runs are not read.
    package static let listLiveCampaigns = Statement<LiveCampaigns>(
        "list_live_campaigns",
        """
        SELECT a.name, coalesce(w.querying, 0), coalesce(r.running, 0), coalesce(r.held, 0), coalesce(r.aborting, 0),
            coalesce(r.remaining, 0)
        FROM fanfare.apps AS a
        LEFT JOIN (
            SELECT c.app_id, count(*) AS querying
            FROM fanfare.runs AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id
            WHERE o.state = 'querying' AND o.test_users IS NULL GROUP BY c.app_id
        ) AS w ON w.app_id = a.id
        LEFT JOIN (
            SELECT x.app, count(*) FILTER (WHERE x.state = 'running' AND x.hold IS NULL) AS running,
                count(*) FILTER (WHERE x.state = 'running' AND x.hold IS NOT NULL) AS held,
                count(*) FILTER (WHERE x.state = 'aborting') AS aborting,
                sum(greatest(x.planned - x.ended, 0))::bigint AS remaining
            FROM fanfare.campaign_runs AS x WHERE x.state IN ('running', 'aborting') GROUP BY x.app
        ) AS r ON r.app = a.name
        WHERE EXISTS (SELECT FROM fanfare.campaigns AS c WHERE c.app_id = a.id)
        ORDER BY a.name
        """,
        row: LiveCampaigns.init
    )
}
