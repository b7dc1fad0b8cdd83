internal import FanfareCore
package import PostgresClient

/// A run that has nothing left to send.
package struct EndedRun {
    /// How it ended.
    package enum State: String {
        /// All planned deliveries were sent, or failed.
        case done
        /// An operator aborted it.
        case aborted
        /// Nothing of it was planned.
        case failed
    }

    package let app: String
    package let campaign: String
    /// The run's event; nil if it had many.
    package let eventID: Int64?
    package let state: State
    /// Why nothing was planned; nil if something was.
    package let detail: String?
}

extension SQL {
    /// Ends runs, with their gates, whose event is planned, whose plans are done, and behind whose gates there is no batch,
    /// claimed or not.
    ///
    /// It reads everything in one snapshot: an event becomes plans and batches, a plan batches, and a batch its retries, in
    /// one transaction each. OFFSET 0 makes PostgreSQL look up the batches of each gate. Without it PostgreSQL may read all
    /// batches, under OR, and hash their gates.
    package static let finishRuns = Statement<EndedRun>(
        "finish_runs",
        """
        WITH over AS MATERIALIZED (
            SELECT o.id, e.fate, e.detail
            FROM (SELECT * FROM fanfare.runs WHERE state IN ('running', 'aborting') OFFSET 0) AS o
            CROSS JOIN LATERAL (
                SELECT l.fate, l.detail FROM fanfare.event_log AS l
                WHERE l.day = fanfare.ring_day(o.event_id) AND l.id = o.event_id OFFSET 0
            ) AS e
            WHERE NOT EXISTS (SELECT FROM fanfare.quarantine AS s WHERE s.id = o.event_id)
                AND NOT EXISTS (SELECT FROM fanfare.plans AS p WHERE p.event_id = o.event_id)
                AND NOT EXISTS (
                    SELECT FROM fanfare.gates AS g
                    WHERE g.run_id = o.id AND (
                        EXISTS (SELECT FROM fanfare.batches AS b WHERE b.lease_token IS NULL AND b.gate_id = g.id OFFSET 0)
                        OR EXISTS (SELECT FROM fanfare.batches AS b WHERE b.owner IS NOT NULL AND b.gate_id = g.id OFFSET 0)))
            UNION ALL
            -- Of many events none is told from those of another run once they are planned: it ends when all are sent.
            SELECT o.id, \(EventFate.planned.rawValue), NULL
            FROM (SELECT * FROM fanfare.runs WHERE state IN ('running', 'aborting') AND emitted_xid IS NOT NULL OFFSET 0) AS o
            JOIN fanfare.campaigns AS c ON c.id = o.campaign_id
            WHERE NOT EXISTS (SELECT FROM fanfare.outbox AS x WHERE x.xid = o.emitted_xid)
                AND NOT EXISTS (SELECT FROM fanfare.quarantine AS x WHERE x.xid = o.emitted_xid)
                AND NOT EXISTS (
                    SELECT FROM fanfare.gates AS g
                    WHERE g.rule_id = c.rule_id AND g.run_id IS NULL AND (
                        EXISTS (SELECT FROM fanfare.plans AS p WHERE p.gate_id = g.id OFFSET 0)
                        OR EXISTS (SELECT FROM fanfare.batches AS b WHERE b.lease_token IS NULL AND b.gate_id = g.id OFFSET 0)
                        OR EXISTS (SELECT FROM fanfare.batches AS b WHERE b.owner IS NOT NULL AND b.gate_id = g.id OFFSET 0)))
        ),
        ended AS (
            UPDATE fanfare.runs AS o
            SET state = CASE WHEN v.fate = \(EventFate.planned.rawValue) AND o.state = 'aborting' THEN 'aborted'
                    WHEN v.fate = \(EventFate.planned.rawValue) THEN 'done'
                    WHEN v.fate = \(EventFate.cancelled.rawValue) THEN 'aborted' ELSE 'failed' END,
                detail = CASE WHEN v.fate <> \(EventFate.planned.rawValue) THEN left(coalesce(v.detail, f.name), 2000) END,
                ended_at = clock_timestamp(), look_at = NULL
            FROM over AS v JOIN fanfare.event_fates AS f ON f.fate = v.fate
            WHERE o.id = v.id AND o.state IN ('running', 'aborting')
            RETURNING o.id, o.campaign_id, o.event_id, o.state, o.detail, o.experiment
        ),
        told AS (
            DELETE FROM fanfare.alarms AS x USING ended AS e, fanfare.campaigns AS c, fanfare.apps AS a
            WHERE c.id = e.campaign_id AND a.id = c.app_id AND x.name = 'experiment/' || a.name || '/' || c.name
                AND e.experiment IS NOT NULL AND NOT EXISTS (
                    SELECT FROM fanfare.runs AS y
                    WHERE y.campaign_id = e.campaign_id AND y.id <> e.id AND y.state = 'running' AND y.look_at IS NOT NULL)
        ),
        closed AS (
            UPDATE fanfare.gates AS g SET state = 'done', ended_at = clock_timestamp(), is_paused = false
            FROM ended AS e WHERE g.run_id = e.id AND g.state <> 'done'
        )
        SELECT a.name, c.name, e.event_id, e.state, e.detail
        FROM ended AS e
        JOIN fanfare.campaigns AS c ON c.id = e.campaign_id
        JOIN fanfare.apps AS a ON a.id = c.app_id
        """
    ) { row throws(PostgresError) in
        EndedRun(
            app: try row.string(0),
            campaign: try row.string(1),
            eventID: try row.int64(orNil: 2),
            state: EndedRun.State(rawValue: try row.string(3)) ?? .failed,
            detail: try row.string(orNil: 4)
        )
    }
}
