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

    /// Deletes some values older than the longest window of a rule; without such a rule, all.
    package static let forgetValues = Statement<Void>(
        "forget_values",
        """
        DELETE FROM fanfare.event_values WHERE ctid = ANY (ARRAY(
            SELECT e.ctid FROM fanfare.event_values AS e
            WHERE e.created_at < statement_timestamp() - coalesce((
                SELECT max(v.retract_within) FROM fanfare.rule_versions AS v WHERE v.retract_event IS NOT NULL AND \(isInForceSQL)), interval '0')
            ORDER BY e.created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )

    /// Deletes the paths that no active rule names, an hour after one last did.
    package static let forgetValuePaths = Statement<Void>(
        "forget_value_paths",
        """
        DELETE FROM fanfare.value_paths AS p
        WHERE p.named_at < statement_timestamp() - interval '1 hour' AND NOT EXISTS (
            SELECT FROM fanfare.rule_versions AS v
            WHERE v.event_type = p.event_type AND v.retract_by = p.path AND v.retract_event IS NOT NULL AND \(isInForceSQL) OFFSET 0)
        """
    )

    private static let isInForceSQL = "v.state = 'active' AND v.retired_at IS NULL AND v.enabled"
}
