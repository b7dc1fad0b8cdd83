internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Reads the users that a rule finds in an event's payload, as a PostgreSQL array literal.
    ///
    /// Binds: eventID, ruleVersion.
    package static let usersInPayload = Statement<String, Int64, Int32>(
        "users_in_payload",
        """
        SELECT fanfare.named_users(e.payload, v.audience_path)::text
        FROM fanfare.event_log AS e JOIN fanfare.rule_versions AS v ON v.id = $2
        WHERE e.day = fanfare.ring_day($1) AND e.id = $1
        """
    )

    /// Divides the waiting batches of an event by recipients' own time into batches of one due time each; does nothing
    /// for other events.
    ///
    /// Run it in the transaction that made the batches: no claim sees them before. A device without a known time zone
    /// uses the one of its app's policy. Batches that slices made are divided already.
    ///
    /// Binds: eventID, batchSize.
    package static let divideByZone = Statement<Void, Int64, Int32>(
        "divide_by_zone",
        """
        WITH taken AS (
            DELETE FROM fanfare.batches AS b USING fanfare.event_log AS e
            WHERE b.event_id = $1 AND b.due_at IS NULL AND b.owner IS NULL
                AND e.day = fanfare.ring_day($1) AND e.id = $1 AND e.wall IS NOT NULL
            RETURNING b.rule_version, b.target_id, b.lane, b.gate_id, b.device_ids, e.wall
        ),
        located AS MATERIALIZED (
            SELECT b.rule_version, b.target_id, b.lane, b.gate_id, b.wall, u.device_id, coalesce(p.time_zone, 'UTC') AS fallback,
                coalesce((SELECT d.time_zone FROM fanfare.devices AS d WHERE d.id = u.device_id), '') AS zone
            FROM taken AS b
            JOIN fanfare.targets AS t ON t.id = b.target_id
            LEFT JOIN fanfare.policies AS p ON p.app_id = t.app_id
            CROSS JOIN LATERAL unnest(b.device_ids) AS u (device_id)
        ),
        zones AS MATERIALIZED (
            SELECT z.wall, z.zone, z.fallback, fanfare.instant(z.wall, fanfare.zone(z.zone, z.fallback)) AS due_at
            FROM (SELECT DISTINCT wall, zone, fallback FROM located) AS z
        )
        INSERT INTO fanfare.batches (rule_version, target_id, lane, gate_id, event_id, device_ids, due_at, not_before)
        SELECT n.rule_version, n.target_id, n.lane, n.gate_id, $1, array_agg(n.device_id ORDER BY n.device_id), n.due_at,
            greatest(n.due_at, statement_timestamp())
        FROM (
            SELECT l.*, z.due_at, (row_number() OVER (
                PARTITION BY l.rule_version, l.target_id, l.lane, l.gate_id, z.due_at ORDER BY l.device_id) - 1) / $2 AS chunk
            FROM located AS l JOIN zones AS z USING (wall, zone, fallback)
        ) AS n
        GROUP BY n.rule_version, n.target_id, n.lane, n.gate_id, n.due_at, n.chunk
        """
    )
}
