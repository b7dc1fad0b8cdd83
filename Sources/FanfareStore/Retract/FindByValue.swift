package import PostgresClient

extension SQL {
    /// Finds the events that events of a `retract_on` type take back, and stores a retraction for each; returns how many
    /// events of the type were looked at.
    ///
    /// An event of the type waits, for an hour at most, while an earlier event that it could take back is not planned: its
    /// value is not known yet.
    ///
    /// Binds: now.
    package static let findByValue = Statement<Int64, Timestamp>(
        "find_by_value",
        """
        WITH due AS MATERIALIZED (
            SELECT v.* FROM fanfare.value_retractions AS v WHERE v.due_at <= $1::timestamptz
            ORDER BY v.due_at LIMIT \(Retracting.limit) FOR UPDATE SKIP LOCKED
        ),
        named AS MATERIALIZED (
            SELECT p.id, p.event_type FROM fanfare.value_paths AS p WHERE p.id IN (SELECT d.path_id FROM due AS d)
        ),
        -- One scan of the queue for all types; none if nothing is due.
        unplanned AS MATERIALIZED (
            SELECT o.type, min(o.id) AS id FROM fanfare.outbox AS o WHERE o.type = ANY (ARRAY(SELECT n.event_type FROM named AS n)) GROUP BY o.type
            UNION ALL
            SELECT o.type, min(o.id) FROM fanfare.quarantine AS o WHERE o.type = ANY (ARRAY(SELECT n.event_type FROM named AS n)) GROUP BY o.type
        ),
        earliest AS MATERIALIZED (
            SELECT n.id AS path_id, u.id FROM unplanned AS u JOIN named AS n ON n.event_type = u.type
        ),
        judged AS MATERIALIZED (
            SELECT d.id, d.created_at, d.created_at > $1 - interval '1 hour' AND EXISTS (
                SELECT FROM earliest AS e WHERE e.path_id = d.path_id AND NOT fanfare.is_emitted_after(e.id, d.event_id & 4294967295)) AS waits
            FROM due AS d
        ),
        postponed AS (
            UPDATE fanfare.value_retractions AS v SET due_at = \(retrySQL(since: "j.created_at"))
            FROM judged AS j WHERE v.id = j.id AND j.waits
        ),
        found AS (
            DELETE FROM fanfare.value_retractions AS v
            WHERE v.id = ANY (ARRAY(SELECT j.id FROM judged AS j WHERE NOT j.waits))
            RETURNING v.rule_id, v.path_id, v.value, v.user_id, v.event_id, v.since
        ),
        stored AS (
            INSERT INTO fanfare.retractions (event_id, user_id, rule_id)
            SELECT DISTINCT e.event_id, f.user_id, f.rule_id
            FROM found AS f
            CROSS JOIN LATERAL (
                SELECT x.event_id FROM fanfare.event_values AS x
                WHERE x.path_id = f.path_id AND x.value = f.value AND x.created_at >= f.since AND x.event_id <> f.event_id
                    AND NOT fanfare.is_emitted_after(x.event_id, f.event_id & 4294967295)
                ORDER BY x.event_id DESC LIMIT \(Retracting.events)
            ) AS e
            WHERE NOT EXISTS (
                SELECT FROM fanfare.retractions AS r
                WHERE r.event_id = e.event_id AND (r.user_id IS NULL OR r.user_id = f.user_id) AND (r.rule_id IS NULL OR r.rule_id = f.rule_id)
                OFFSET 0)
        )
        SELECT count(*) FROM due
        """
    )
}
