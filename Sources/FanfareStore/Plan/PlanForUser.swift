internal import FanfareCore
package import PostgresClient

/// Plans an event for one user's devices that a rule's topics reach, for a replay to one user; otherwise ``OpenPlan``
/// does this.
package struct PlanForUser: PostgresStatement {
    package static let name = "plan_for_user"
    package static let sql = """
        WITH
        deliveries AS MATERIALIZED (
            SELECT v.id AS rule_version, v.lane, $1::bigint AS event_id, d.target_id, d.id AS device_id,
                \(gateSQL(of: "v", event: "$1::bigint")) AS gate_id
            FROM fanfare.rule_versions AS v
            CROSS JOIN LATERAL (
                SELECT x.id, x.target_id, x.attributes, x.provider, x.kind, x.disabled_at FROM fanfare.devices AS x
                WHERE x.app_id = v.app_id AND x.user_id = $3
                OFFSET 0
            ) AS d
            WHERE v.id = $2 AND d.disabled_at IS NULL AND d.kind = v.kind AND (v.provider IS NULL OR d.provider = v.provider)
                AND (v.devices_path IS NULL
                    OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), v.devices_path, '{}', true))
                AND EXISTS (
                    SELECT FROM jsonb_to_recordset($4::jsonb) AS c ("all" int[], "none" int[])
                    WHERE cardinality(c."all") = (
                            SELECT count(*) FROM fanfare.subscriptions AS s WHERE s.device_id = d.id AND s.topic_id = ANY (c."all"))
                        AND NOT EXISTS (
                            SELECT FROM fanfare.subscriptions AS s WHERE s.device_id = d.id AND s.topic_id = ANY (c."none")))
        ),
        \(queueDeliveriesSQL(batchSize: "$5::int"))
        SELECT count(*)::int FROM queued
        """

    package let eventID: Int64
    package let ruleVersion: Int32
    package let user: String
    package let clauses: [PlannedClause]
    package let batchSize: Int

    package init(eventID: Int64, ruleVersion: Int32, user: String, clauses: [PlannedClause], batchSize: Int) {
        self.eventID = eventID
        self.ruleVersion = ruleVersion
        self.user = user
        self.clauses = clauses
        self.batchSize = batchSize
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
        binds.append(ruleVersion)
        binds.append(user)
        binds.append(PlannedClause.json(clauses))
        binds.append(Int32(batchSize))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlannedCounts {
        PlannedCounts(batches: Int(try row.int32(0)))
    }
}
