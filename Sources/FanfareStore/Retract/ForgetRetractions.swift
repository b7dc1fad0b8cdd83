package import PostgresClient

extension SQL {
    /// Deletes some retractions that are as old as the logs, and what devices were told then.
    ///
    /// Binds: retentionDays.
    package static let forgetRetractions = Statement<Void, Int32>(
        "forget_retractions",
        """
        WITH devices AS (
            DELETE FROM fanfare.retracted_devices WHERE device_id = ANY (ARRAY(
                SELECT x.device_id FROM fanfare.retracted_devices AS x
                WHERE x.changed_at < statement_timestamp() - $1 * interval '1 day' AND x.due_at IS NULL
                ORDER BY x.changed_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        )
        DELETE FROM fanfare.retractions WHERE id = ANY (ARRAY(
            SELECT r.id FROM fanfare.retractions AS r
            WHERE r.created_at < statement_timestamp() - $1 * interval '1 day' AND r.due_at IS NULL
            ORDER BY r.created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )

    /// Deletes some values that no rule needs any more: those of conversions once they are as old as the logs, and others once they
    /// are older than the longest window in which an event takes back.
    ///
    /// Binds: retentionDays.
    package static let forgetValues = Statement<Void, Int32>(
        "forget_values",
        """
        DELETE FROM fanfare.event_values WHERE ctid = ANY (ARRAY(
            SELECT e.ctid FROM fanfare.value_paths AS p
            CROSS JOIN LATERAL (
                SELECT greatest(
                    (SELECT max(v.retract_within) FROM fanfare.rule_versions AS v
                    WHERE v.event_type = p.event_type AND v.retract_by = p.path AND v.retract_event IS NOT NULL AND \(isInForceSQL)),
                    CASE WHEN p.converts AND NOT p.is_ended THEN $1 * interval '1 day' END, interval '0') AS kept
            ) AS k
            CROSS JOIN LATERAL (
                SELECT x.ctid FROM fanfare.event_values AS x WHERE x.path_id = p.id AND x.created_at < statement_timestamp() - k.kept
                ORDER BY x.created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED
            ) AS e
            LIMIT \(Forgetting.limit)))
        """
    )

    /// Ends the paths that no rule has named for an hour, and deletes ended paths that have neither values nor opened pushes.
    ///
    /// Those of conversions stay as long as a rule version that named them could have sent a push of the logs.
    ///
    /// Binds: retentionDays.
    package static let forgetValuePaths = Statement<Void, Int32>(
        "forget_value_paths",
        """
        WITH named AS MATERIALIZED (
            SELECT p.id, EXISTS (
                    SELECT FROM fanfare.rule_versions AS v
                    WHERE v.event_type = p.event_type AND v.retract_by = p.path AND v.retract_event IS NOT NULL AND \(isInForceSQL) OFFSET 0) AS retracts,
                EXISTS (
                    SELECT FROM fanfare.rule_versions AS v
                    WHERE v.conversion_event = p.event_type AND v.conversion_user = p.path AND v.state = 'active'
                        AND coalesce(v.retired_at > statement_timestamp() - $1 * interval '1 day', true) OFFSET 0) AS converts
            FROM fanfare.value_paths AS p WHERE p.named_at < statement_timestamp() - interval '1 hour'
        ),
        ended AS (
            UPDATE fanfare.value_paths AS p SET converts = n.converts, is_ended = NOT (n.retracts OR n.converts)
            FROM named AS n WHERE p.id = n.id AND (p.converts, p.is_ended) <> (n.converts, NOT (n.retracts OR n.converts))
        )
        DELETE FROM fanfare.value_paths AS p
        WHERE p.is_ended AND p.named_at < statement_timestamp() - interval '1 hour'
            AND NOT EXISTS (SELECT FROM fanfare.event_values AS e WHERE e.path_id = p.id OFFSET 0)
            AND NOT EXISTS (SELECT FROM fanfare.touches AS t WHERE t.path_id = p.id OFFSET 0)
        """
    )

    private static let isInForceSQL = "v.state = 'active' AND v.retired_at IS NULL AND v.enabled"
}
