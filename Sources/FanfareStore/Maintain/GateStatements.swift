package import PostgresClient

extension SQL {
    /// Ends gates of rules behind which nothing can wait any more.
    ///
    /// That is the case if no event of the rule is still to be planned, no plan is open and no batch is left, claimed or
    /// not. The gates of runs end with their runs (``SQL/finishRuns``).
    ///
    /// It reads everything in one snapshot: an event becomes plans and batches, a plan batches, and a batch its retries, in
    /// one transaction each.
    ///
    /// - An aborted gate is opened again then, and ends only with its rule.
    /// - Events are found by their type, since those of a campaign have their own. A caller that creates a gate before it
    ///   emits must do both in one transaction, or the gate may end before the event is visible.
    ///
    /// The gate's id.
    package static let finishGates = Statement<Int32>(
        "finish_gates",
        """
        WITH
        -- Of all types at once, and only where there are gates to ask for.
        unplanned AS MATERIALIZED (
            SELECT type FROM fanfare.outbox GROUP BY type
            UNION ALL
            SELECT type FROM fanfare.quarantine GROUP BY type
        ),
        empty AS MATERIALIZED (
            SELECT g.id, r.dropped_at IS NULL AS goes_on
            FROM (SELECT * FROM fanfare.gates WHERE state <> 'done' OFFSET 0) AS g
            JOIN fanfare.rules AS r ON r.id = g.rule_id
            WHERE g.run_id IS NULL AND (g.state = 'aborting' OR r.dropped_at IS NOT NULL)
                AND NOT EXISTS (SELECT FROM fanfare.batches AS b WHERE b.lease_token IS NULL AND b.gate_id = g.id)
                AND NOT EXISTS (SELECT FROM fanfare.batches AS b WHERE b.owner IS NOT NULL AND b.gate_id = g.id)
                AND NOT EXISTS (SELECT FROM fanfare.plans AS p WHERE p.gate_id = g.id)
                AND NOT EXISTS (
                    SELECT FROM fanfare.audience_queries AS q JOIN fanfare.rule_versions AS v ON v.id = q.rule_version
                    WHERE v.rule_id = g.rule_id)
                AND NOT EXISTS (
                    SELECT FROM unplanned AS u JOIN fanfare.rule_versions AS v ON v.event_type = u.type
                    WHERE v.rule_id = g.rule_id)
        )
        UPDATE fanfare.gates AS g
        SET state = CASE WHEN e.goes_on THEN 'open' ELSE 'done' END, ended_at = CASE WHEN NOT e.goes_on THEN clock_timestamp() END,
            reason = CASE WHEN NOT e.goes_on THEN g.reason END
        FROM empty AS e
        WHERE g.id = e.id AND g.state <> 'done'
        RETURNING g.id
        """
    )

    /// Deletes some gates that ended long ago, their counts, and the rates of dropped rules.
    package static let forgetGates = Statement<Void>(
        "forget_gates",
        """
        WITH old AS (
            DELETE FROM fanfare.gates WHERE id = ANY (ARRAY(
                SELECT id FROM fanfare.gates
                WHERE state = 'done' AND ended_at < statement_timestamp() - interval '\(Forgetting.gateDays) days'
                ORDER BY id LIMIT 100 FOR UPDATE SKIP LOCKED))
            RETURNING id, rule_id
        ),
        unused AS (
            DELETE FROM fanfare.rates WHERE rule_id = ANY (ARRAY(
                SELECT o.rule_id FROM old AS o JOIN fanfare.rules AS r ON r.id = o.rule_id WHERE r.dropped_at IS NOT NULL))
        )
        DELETE FROM fanfare.gate_stats WHERE gate_id = ANY (ARRAY(SELECT id FROM old))
        """
    )
}
