package import PostgresClient

extension SQL {
    /// Plans events for audiences that a provider manages: one delivery each, with the reserved device 0.
    ///
    /// Binds: eventIDs, ruleVersions, batchSize.
    package static let planNative = Statement<PlannedCounts, [Int64], [Int32], Int32>(
        "plan_native",
        """
        WITH
        deliveries AS MATERIALIZED (
            SELECT w.rule_version, v.lane, w.event_id, v.native_target_id AS target_id, 0::bigint AS device_id,
                \(gateSQL(of: "v", event: "w.event_id")) AS gate_id
            FROM unnest($1::bigint[], $2::int[]) AS w (event_id, rule_version)
            JOIN fanfare.rule_versions AS v ON v.id = w.rule_version
        ),
        \(queueDeliveriesSQL(batchSize: "$3::int", isPaced: false))
        SELECT count(*)::int FROM queued
        """,
        row: { (batches: Int32) in PlannedCounts(batches: Int(batches)) }
    )
}
