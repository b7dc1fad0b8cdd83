package import PostgresClient

/// The progress of one run of a campaign, as in `fanfare.campaign_runs`.
package struct CampaignRun: Sendable {
    package let app: String
    package let campaign: String
    package let runID: Int64
    package let eventID: Int64?
    /// `querying`, `running`, `aborting`, `done`, `aborted` or `failed`.
    package let state: String
    /// A readable description of why it is held; nil if it is not.
    package let hold: String?
    /// Whether its audience is still being expanded, so that more will be planned.
    package let isPlanning: Bool
    /// The deliveries planned so far.
    package let planned: Int64
    /// The deliveries with a final outcome.
    package let ended: Int64
    /// The deliveries that a provider accepted.
    package let accepted: Int64
    /// The deliveries that were tried and failed; unregistered tokens do not count.
    package let failed: Int64
    /// The deliveries per second that may be sent now; nil if there is no rate.
    package let perSecond: Double?
    /// The deliveries per second that ended in the last minute; nil if none did.
    package let pace: Double?
    /// When it will end at the present pace; nil if that is not known.
    package let endsAt: Timestamp?
    /// The time of these numbers, in database time.
    package let at: Timestamp
    /// The last verdict on its experiment; nil if there is none.
    package let experiment: String?
    /// The variant that the rest of the audience gets; nil without a decision for one.
    package let winner: String?

    /// Whether something of it may still be sent.
    package var isRunning: Bool { ["querying", "running", "aborting"].contains(state) }
    /// The type of the run's event.
    package var eventType: String { "campaign.\(app).\(campaign)" }
}

extension SQL {
    /// Reads the progress of one run.
    ///
    /// Binds: run.
    package static let findCampaignRun = Statement<CampaignRun, Int64>(
        "find_campaign_run",
        "\(CampaignRun.select) WHERE r.run_id = $1"
    ) { row throws(PostgresError) in
        try CampaignRun(row)
    }

    /// Reads the progress of all unfinished runs.
    package static let runningCampaigns = Statement<CampaignRun>(
        "running_campaigns",
        """
        \(CampaignRun.select) WHERE r.state IN ('querying', 'running', 'aborting') ORDER BY r.run_id
        """
    ) { row throws(PostgresError) in
        try CampaignRun(row)
    }
}

extension CampaignRun {
    fileprivate static let select = """
        SELECT r.app, r.campaign, r.run_id, r.event_id, r.state, r.hold, r.is_planning, r.planned, r.ended, r.accepted,
            r.failed, r.per_second, r.pace, r.ends_at, now(), r.experiment, r.winner
        FROM fanfare.campaign_runs AS r
        """

    fileprivate init(_ row: borrowing PostgresRow) throws(PostgresError) {
        app = try row.string(0)
        campaign = try row.string(1)
        runID = try row.int64(2)
        eventID = try row.int64(orNil: 3)
        state = try row.string(4)
        hold = try row.string(orNil: 5)
        isPlanning = try row.bool(6)
        planned = try row.int64(7)
        ended = try row.int64(8)
        accepted = try row.int64(9)
        failed = try row.int64(10)
        perSecond = try row.double(orNil: 11)
        pace = try row.double(orNil: 12)
        endsAt = try row.timestamp(orNil: 13)
        at = try row.timestamp(14)
        experiment = try row.string(orNil: 15)
        winner = try row.string(orNil: 16)
    }
}

/// How many attempts of a run ended with one outcome.
package struct AttemptCount: Sendable, Equatable {
    package let outcome: String
    package let reason: String
    package let count: Int64
}

extension SQL {
    /// Counts the attempts of a run by outcome; a delivery that was retried counts once per attempt.
    ///
    /// Binds: run.
    package static let countAttempts = Statement<AttemptCount, Int64>(
        "count_attempts",
        """
        SELECT c.outcome, c.reason, sum(t.deliveries)::bigint
        FROM fanfare.gates AS g
        CROSS JOIN LATERAL (
            SELECT s.outcome, s.deliveries FROM fanfare.gate_stats AS s WHERE s.gate_id = g.id
            UNION ALL
            SELECT p.outcome, p.deliveries FROM fanfare.stats_pending AS p WHERE p.gate_id = g.id AND p.gate_id <> 0
        ) AS t
        JOIN fanfare.outcome_codes AS c ON c.code = t.outcome
        WHERE g.run_id = $1::bigint
        GROUP BY c.outcome, c.reason
        ORDER BY sum(t.deliveries) DESC, c.outcome, c.reason
        """,
        row: AttemptCount.init
    )
}
