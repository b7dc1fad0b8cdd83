package import PostgresClient

/// Plans events for audiences that a provider manages: one delivery each, with the reserved device 0.
package struct PlanNative: PostgresStatement {
    package static let name = "plan_native"
    package static let sql = """
        WITH
        deliveries AS MATERIALIZED (
            SELECT w.rule_version, v.lane, w.event_id, v.native_target_id AS target_id, 0::bigint AS device_id,
                \(gateSQL(of: "v", event: "w.event_id")) AS gate_id
            FROM unnest($1::bigint[], $2::int[]) AS w (event_id, rule_version)
            JOIN fanfare.rule_versions AS v ON v.id = w.rule_version
        ),
        \(queueDeliveriesSQL(batchSize: "$3::int", isPaced: false))
        SELECT count(*)::int FROM queued
        """

    package let eventIDs: [Int64]
    package let ruleVersions: [Int32]
    package let batchSize: Int

    package init(eventIDs: [Int64], ruleVersions: [Int32], batchSize: Int) {
        self.eventIDs = eventIDs
        self.ruleVersions = ruleVersions
        self.batchSize = batchSize
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventIDs)
        binds.append(ruleVersions)
        binds.append(Int32(batchSize))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlannedCounts {
        PlannedCounts(batches: Int(try row.int32(0)))
    }
}
