internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Plans an event for one user's devices that a rule's topics reach, for a replay to one user; otherwise
    /// ``SQL/openPlan`` does this.
    ///
    /// Binds: eventID, ruleVersion, user, clauses, batchSize.
    package static let planForUser = Statement<PlannedCounts, Int64, Int32, String, String, Int32>(
        "plan_for_user",
        """
        WITH
        deliveries AS MATERIALIZED (
            SELECT v.id AS rule_version, v.lane, $1::bigint AS event_id, d.target_id, d.id AS device_id,
                \(gateSQL(of: "v", event: "$1::bigint")) AS gate_id
            FROM fanfare.rule_versions AS v
            CROSS JOIN LATERAL (
                SELECT x.id, x.target_id, x.attributes, x.provider, x.kind, x.disabled_at, x.permission, x.presents FROM fanfare.devices AS x
                WHERE x.app_id = v.app_id AND x.user_id = $3
                OFFSET 0
            ) AS d
            WHERE v.id = $2 AND d.disabled_at IS NULL AND d.kind = v.kind AND (v.provider IS NULL OR d.provider = v.provider)
                AND (v.devices_path IS NULL
                    OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), v.devices_path, '{}', true))
                AND \(PermissionSQL.passes("v"))
                AND EXISTS (
                    SELECT FROM jsonb_to_recordset($4::jsonb) AS c ("all" int[], "none" int[])
                    WHERE cardinality(c."all") = (
                            SELECT count(*) FROM fanfare.subscriptions AS s WHERE s.device_id = d.id AND s.topic_id = ANY (c."all"))
                        AND NOT EXISTS (
                            SELECT FROM fanfare.subscriptions AS s WHERE s.device_id = d.id AND s.topic_id = ANY (c."none")))
        ),
        \(queueDeliveriesSQL(batchSize: "$5::int"))
        SELECT count(*)::int FROM queued
        """,
        row: { (batches: Int32) in PlannedCounts(batches: Int(batches)) }
    )
}
