package import PostgresClient

/// How far one run of a campaign is, as `fanfare.campaign_runs` counts it.
package struct CampaignRun: Sendable {
    package let app: String
    package let campaign: String
    package let runID: Int64
    package let eventID: Int64?
    /// `querying`, `running`, `aborting`, `done`, `aborted` or `failed`.
    package let state: String
    /// What holds it, for people; nil where nothing does.
    package let hold: String?
    /// Whether its audience is still being walked, so that more will be planned.
    package let isPlanning: Bool
    /// Deliveries that are planned so far.
    package let planned: Int64
    /// Those of them that have their last outcome.
    package let ended: Int64
    /// Those that a provider took.
    package let accepted: Int64
    /// Those that were tried and did not arrive; tokens that are gone are none.
    package let failed: Int64
    /// Deliveries a second that may be sent now; nil for as many as can be.
    package let perSecond: Double?
    /// Deliveries a second that ended in the last minute; nil where none did.
    package let pace: Double?
    /// When it will be through, as it goes now; nil where that is not known.
    package let endsAt: Timestamp?
    /// When it was so, by the database's clock.
    package let at: Timestamp

    /// Whether something of it may still be sent.
    package var isRunning: Bool { ["querying", "running", "aborting"].contains(state) }
    /// The type of its event.
    package var eventType: String { "campaign.\(app).\(campaign)" }
}

/// How far one run is.
package struct FindCampaignRun: PostgresStatement {
    package static let name = "find_campaign_run"
    package static let sql = "\(CampaignRun.select) WHERE r.run_id = $1"

    package let run: Int64

    package init(run: Int64) {
        self.run = run
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(run)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> CampaignRun {
        try CampaignRun(row)
    }
}

/// How far those are that run.
package struct RunningCampaigns: PostgresStatement {
    package static let name = "running_campaigns"
    package static let sql = """
        \(CampaignRun.select) WHERE r.state IN ('querying', 'running', 'aborting') ORDER BY r.run_id
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> CampaignRun {
        try CampaignRun(row)
    }
}

extension CampaignRun {
    fileprivate static let select = """
        SELECT r.app, r.campaign, r.run_id, r.event_id, r.state, r.hold, r.is_planning, r.planned, r.ended, r.accepted,
            r.failed, r.per_second, r.pace, r.ends_at, now()
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
    }
}

/// How many attempts of a run ended in one way.
package struct AttemptCount: Sendable, Equatable {
    package let outcome: String
    package let reason: String
    package let count: Int64
}

/// What became of the attempts of a run: a delivery that was tried again counts once for each.
package struct CountAttempts: PostgresStatement {
    package static let name = "count_attempts"
    package static let sql = """
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
        """

    package let run: Int64

    package init(run: Int64) {
        self.run = run
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(run)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> AttemptCount {
        AttemptCount(outcome: try row.string(0), reason: try row.string(1), count: try row.int64(2))
    }
}
