package import PostgresClient

/// One run, fired or skipped.
package struct CampaignHistoryRow: Sendable {
    package let id: Int64
    package let scheduledAt: Timestamp
    package let eventID: Int64?
    /// `skipped`, `querying`, `running`, `aborting`, `done`, `aborted` or `failed`.
    package let state: String
    package let detail: String?
    package let firedAt: Timestamp?
    package let endedAt: Timestamp?
    /// The planned deliveries, without those of plans that are still open.
    package let planned: Int64
    package let ended: Int64
    package let accepted: Int64
    package let failed: Int64
}

extension SQL {
    /// Reads a campaign's runs, the newest first, each with the counts of its gates.
    ///
    /// Binds: app, name, before, limit.
    package static let campaignHistory = Statement<CampaignHistoryRow, String, String, Timestamp?, Int64>(
        "campaign_history",
        """
        SELECT o.id, o.scheduled_at, o.event_id, o.state, o.detail, o.fired_at, o.ended_at,
            greatest(o.planned, t.ended)::bigint, t.ended::bigint, t.accepted::bigint, t.failed::bigint
        FROM (
            SELECT x.* FROM fanfare.runs AS x
            WHERE x.campaign_id = (
                SELECT c.id FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
                WHERE a.name = $1 AND c.name = $2 AND c.dropped_at IS NULL)
                AND x.test_users IS NULL AND ($3::timestamptz IS NULL OR x.scheduled_at < $3)
            ORDER BY x.scheduled_at DESC
            LIMIT $4
        ) AS o
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(y.deliveries) FILTER (WHERE y.outcome NOT IN (0, 2) AND y.outcome NOT BETWEEN 32 AND 63), 0) AS ended,
                coalesce(sum(y.deliveries) FILTER (WHERE y.outcome = 1), 0) AS accepted,
                coalesce(sum(y.deliveries) FILTER (WHERE fanfare.is_failure(y.outcome)), 0) AS failed
            FROM fanfare.gates AS g
            CROSS JOIN LATERAL (
                SELECT s.outcome, s.deliveries FROM fanfare.gate_stats AS s WHERE s.gate_id = g.id
                UNION ALL
                SELECT p.outcome, p.deliveries FROM fanfare.stats_pending AS p WHERE p.gate_id = g.id AND p.gate_id <> 0
            ) AS y
            WHERE g.run_id = o.id
        ) AS t
        ORDER BY o.scheduled_at DESC
        """,
        row: CampaignHistoryRow.init
    )
}

/// The state of its two gates.
package struct CanaryStandingRow: Sendable {
    /// The share of the audience that goes first; nil if ``devices`` is the number.
    package let share: Double?
    package let devices: Int32?
    /// The share of responses that may be failures.
    package let maxFailed: Double
    /// `passed` or `failed`; nil before it is judged.
    package let verdict: String?
    /// The state of the gate that holds all others: `held`, `open`, `aborting` or `done`, or `paused`.
    package let state: String
    package let reason: String?
    /// When it is judged; nil before the first response.
    package let judgedAt: Timestamp?
    package let answered: Int64
    package let failed: Int64
    /// Whether the canary is the sample of an experiment.
    package let isExperiment: Bool
    /// Whether the experiment is not decided yet.
    package let isUndecided: Bool
    /// The variant that the others get; nil if there is none.
    package let winner: String?
    /// The last verdict of the experiment as text.
    package let detail: String?
}

extension SQL {
    /// Reads the state of a run's canary; no row if the run has none.
    ///
    /// Binds: run.
    package static let canaryStanding = Statement<CanaryStandingRow, Int64>(
        "canary_standing",
        """
        SELECT o.canary_share::float8, o.canary_devices, o.canary_max_failed::float8, o.verdict,
            CASE WHEN c.is_paused OR h.is_paused THEN 'paused' ELSE h.state END, coalesce(h.reason, c.reason),
            c.began_at + o.canary_wait, t.answered, t.failed, o.experiment IS NOT NULL, fanfare.is_undecided(o), o.winner,
            o.figures ->> 'detail'
        FROM fanfare.runs AS o
        JOIN fanfare.gates AS c ON c.id = o.gate_id
        JOIN fanfare.gates AS h ON h.id = o.held_gate_id
        CROSS JOIN LATERAL (
            SELECT coalesce(sum(y.deliveries) FILTER (WHERE fanfare.is_failure(y.outcome)), 0)::bigint AS failed,
                coalesce(sum(y.deliveries) FILTER (WHERE fanfare.is_answer(y.outcome)), 0)::bigint AS answered
            FROM (
                SELECT s.outcome, s.deliveries FROM fanfare.gate_stats AS s WHERE s.gate_id = o.gate_id
                UNION ALL
                SELECT p.outcome, p.deliveries FROM fanfare.stats_pending AS p WHERE p.gate_id = o.gate_id AND p.gate_id <> 0
            ) AS y
        ) AS t
        WHERE o.id = $1
        """,
        row: CanaryStandingRow.init
    )
}

/// The deliveries that are due in one minute.
package struct CampaignWavesRow: Sendable {
    package let dueAt: Timestamp
    /// The offset from UTC of clocks that show the campaign's wall time then.
    package let offsetMinutes: Int32
    /// The number of deliveries.
    package let deliveries: Int64
    /// Whether they were counted, and not extrapolated.
    package let isExact: Bool
}

extension SQL {
    /// Reads a run's waiting deliveries by recipients' time, by the minute when they are due; no rows if the run does not
    /// use recipients' time.
    ///
    /// Binds: run.
    package static let campaignWaves = Statement<CampaignWavesRow, Int64>(
        "campaign_waves",
        """
        SELECT w.due_at, round(extract(epoch FROM o.wall - w.due_at AT TIME ZONE 'UTC') / 60)::int, w.deliveries, w.is_exact
        FROM fanfare.runs AS o
        CROSS JOIN LATERAL fanfare.campaign_waves(o.id) AS w
        WHERE o.id = $1 AND o.wall IS NOT NULL AND o.state = 'running'
        ORDER BY w.due_at
        """,
        row: CampaignWavesRow.init
    )
}
