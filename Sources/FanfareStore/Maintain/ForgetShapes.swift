package import PostgresClient

extension SQL {
    /// Retires some shapes of messages that no delivery has used within the log's retention, and those that were refused
    /// an hour ago, which a newer daemon may accept.
    ///
    /// The oldest are looked at first; one that is in use is looked at again after another retention. A message of a
    /// retired shape stores the shape again.
    ///
    /// Binds: retentionDays.
    package static let retireShapes = Statement<Void, Int32>(
        "retire_shapes",
        """
        UPDATE fanfare.shapes AS s
        SET seen_at = CASE WHEN d.is_used THEN statement_timestamp() ELSE s.seen_at END,
            retired_at = CASE WHEN NOT d.is_used THEN statement_timestamp() END
        FROM (
            SELECT o.name, o.state <> 'refused' AND EXISTS (
                SELECT FROM generate_series(0, $1::int) AS g (days)
                CROSS JOIN LATERAL (
                    SELECT FROM fanfare.stats AS t
                    WHERE t.day = (statement_timestamp() AT TIME ZONE 'UTC')::date - g.days AND t.rule_version = o.id LIMIT 1) AS t
            ) AS is_used
            FROM (
                SELECT s.name, v.id, v.state FROM fanfare.shapes AS s JOIN fanfare.rule_versions AS v ON v.rule_id = s.rule_id
                WHERE s.retired_at IS NULL AND s.seen_at < statement_timestamp()
                    - CASE v.state WHEN 'refused' THEN interval '1 hour' ELSE $1::int * interval '1 day' END
                ORDER BY s.seen_at LIMIT \(shapeLimit)
            ) AS o
        ) AS d
        WHERE s.name = d.name AND s.retired_at IS NULL
        """
    )

    /// Ends the rules of some shapes that were retired before the log's retention, so that no event of them is in the log,
    /// unless an event still waits.
    ///
    /// Binds: retentionDays.
    package static let endShapes = Statement<Void, Int32>(
        "end_shapes",
        """
        WITH ended AS (
            DELETE FROM fanfare.shapes AS s WHERE s.name = ANY (ARRAY(
                SELECT o.name FROM fanfare.shapes AS o
                WHERE o.retired_at < statement_timestamp() - $1::int * interval '1 day'
                    AND NOT EXISTS (SELECT FROM fanfare.outbox AS e WHERE e.type LIKE 'send.%' AND e.payload ->> 'shape' = o.name)
                    AND NOT EXISTS (SELECT FROM fanfare.quarantine AS e WHERE e.type LIKE 'send.%' AND e.payload ->> 'shape' = o.name)
                    AND NOT EXISTS (SELECT FROM fanfare.scheduled AS e WHERE e.app_id = o.app_id AND e.payload ->> 'shape' = o.name)
                ORDER BY o.retired_at LIMIT \(shapeLimit)))
            RETURNING s.rule_id
        ),
        dropped AS (
            UPDATE fanfare.rules AS r SET dropped_at = clock_timestamp() FROM ended AS s WHERE r.id = s.rule_id
        )
        UPDATE fanfare.rule_versions AS v SET retired_at = clock_timestamp() FROM ended AS s
        WHERE v.rule_id = s.rule_id AND v.retired_at IS NULL
        """
    )

    /// How many shapes a statement looks at.
    private static let shapeLimit = 100
}
