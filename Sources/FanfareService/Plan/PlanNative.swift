internal import PostgresClient

/// Plans events for audiences that a provider keeps: one pair each, with device 0, which is nobody's.
struct PlanNative: PostgresStatement {
    static let name = "plan_native"
    static let sql = """
        WITH
        pairs AS MATERIALIZED (
            SELECT w.rule_version, v.lane, w.event_id, v.native_target_id AS target_id, 0::bigint AS device_id
            FROM unnest($1::bigint[], $2::int[]) AS w (event_id, rule_version)
            JOIN fanfare.rule_versions AS v ON v.id = w.rule_version
        ),
        \(queuePairsSQL(batchSize: "$3::int"))
        SELECT count(*)::int FROM queued
        """

    let eventIDs: [Int64]
    let ruleVersions: [Int32]
    let batchSize: Int

    func bind(to binds: inout PostgresBinds) {
        binds.append(eventIDs)
        binds.append(ruleVersions)
        binds.append(Int32(batchSize))
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlannedCounts {
        PlannedCounts(batches: Int(try row.int32(0)))
    }
}
