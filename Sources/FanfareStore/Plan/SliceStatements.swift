internal import FanfareCore
package import PostgresClient

/// The statements that walk one slice.
///
/// Their text depends on the shape of the condition only: how many clauses, how many topics in each. The topics are
/// parameters.
package struct SliceStatements {
    /// How many rows of each clause a slice scans; found or not, so that a slice's time is bounded.
    package static let rows = 20_000
    /// The same where pairs go by their time zones: of 30 zones a smaller slice would leave batches of 300.
    package static let timedRows = 100_000

    package let plan: OpenedPlan

    private var rows: Int { plan.wall == nil ? Self.rows : Self.timedRows }

    package init(plan: OpenedPlan) {
        self.plan = plan
    }

    /// Where the slice ends: the least end of its clauses' scans, or the plan's end.
    ///
    /// Binds: cursor, last device, the first topic of each clause that has one.
    package var boundSQL: String {
        var parameter = 2
        let ends = plan.clauses.map { clause in
            if !clause.all.isEmpty { parameter += 1 }
            let table =
                clause.all.isEmpty
                ? "SELECT id AS device_id FROM fanfare.devices WHERE id > $1"
                : "SELECT device_id FROM fanfare.subscriptions WHERE topic_id = $\(parameter) AND device_id > $1"
            return "(SELECT device_id FROM (\(table)) AS t ORDER BY device_id OFFSET \(rows - 1) LIMIT 1)"
        }
        return "SELECT least($2::bigint, \(ends.joined(separator: ", ")))"
    }

    /// The values of ``boundSQL``.
    package var boundBinds: [String] {
        [plan.cursor, plan.lastDevice].map { String($0) } + plan.clauses.compactMap { $0.all.first.map(String.init) }
    }

    /// The values of ``sliceSQL``.
    package func sliceBinds(upTo end: Int64, batchSize: Int) -> [String] {
        let head = [plan.eventID, Int64(plan.ruleVersion), plan.cursor, end, Int64(batchSize), Int64(plan.gate)]
        let time = plan.wall.map { [$0, plan.timeZone ?? "UTC"] } ?? []
        return head.map { String($0) } + time + plan.clauses.flatMap { $0.all + $0.none }.map(String.init)
    }

    /// Turns the slice into batches, and counts its pairs.
    ///
    /// Binds: event, rule version, both ends, the batch size, the gate, wall time and zone where there are, all topics.
    ///
    /// One index probe per row and topic, fenced by OFFSET 0: joins would be as fast with honest statistics, and take
    /// minutes on tables that were just loaded.
    package var sliceSQL: String {
        var parameter = plan.wall == nil ? 7 : 9
        let clauses = plan.clauses.map { clause in
            defer { parameter += clause.all.count + clause.none.count }
            return clauseSQL(clause, firstParameter: parameter)
        }
        let isTimed = plan.wall != nil
        return """
            WITH
            found AS MATERIALIZED (
                \(clauses.joined(separator: "\n    UNION\n    "))
            ),
            \(isTimed ? "reached AS MATERIALIZED" : "pairs AS") (
                SELECT v.id AS rule_version, v.lane, $1::bigint AS event_id, d.target_id, d.id AS device_id, $6::int AS gate_id\(isTimed ? ", coalesce(d.time_zone, '') AS zone" : "")
                FROM fanfare.rule_versions AS v
                CROSS JOIN found AS f
                CROSS JOIN LATERAL (SELECT * FROM fanfare.devices AS x WHERE x.id = f.device_id OFFSET 0) AS d
                WHERE v.id = $2 AND d.disabled_at IS NULL AND d.app_id = v.app_id AND d.kind = v.kind
                    AND (v.platform IS NULL OR d.platform = v.platform)
                    AND (v.devices_path IS NULL
                        OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), v.devices_path, '{}', true))
            ),
            \(isTimed ? Self.timesSQL : "")
            \(queuePairsSQL(batchSize: "(SELECT \(QueueSQL.batchSize("$5::int", gate: "$6::int")))", isTimed: isTimed, returning: "cardinality(device_ids) AS pairs"))
            SELECT coalesce(sum(pairs), 0) FROM queued
            """
    }

    /// When each pair is due: asked once for each zone, not for each device.
    private static let timesSQL = """
        zones AS MATERIALIZED (
            SELECT z.zone, fanfare.instant($7::timestamp, fanfare.zone(z.zone, $8::text)) AS due_at
            FROM (SELECT DISTINCT zone FROM reached) AS z
        ),
        pairs AS (
            SELECT r.rule_version, r.lane, r.event_id, r.target_id, r.device_id, r.gate_id, z.due_at
            FROM reached AS r JOIN zones AS z USING (zone)
        ),
        """

    private func clauseSQL(_ clause: PlannedClause, firstParameter: Int) -> String {
        let device = clause.all.isEmpty ? "a.id" : "a.device_id"
        let others = clause.all.indices.dropFirst().map { probe("$\(firstParameter + $0)", device: device) }
        let excluded = clause.none.indices.map { probe("$\(firstParameter + clause.all.count + $0)", device: device) }
        let conditions = others.map { " AND " + $0 } + excluded.map { " AND NOT " + $0 }
        let driver =
            clause.all.isEmpty
            ? "SELECT a.id AS device_id FROM fanfare.devices AS a WHERE a.id > $3 AND a.id <= $4"
            : """
            SELECT a.device_id FROM fanfare.subscriptions AS a
            WHERE a.topic_id = $\(firstParameter) AND a.device_id > $3 AND a.device_id <= $4
            """
        return driver + conditions.joined()
    }

    private func probe(_ topic: String, device: String) -> String {
        """
        EXISTS (SELECT FROM fanfare.subscriptions AS s
            WHERE s.topic_id = \(topic) AND s.device_id = \(device) OFFSET 0)
        """
    }
}

/// Whether many of an app's batches are due in a lane behind one gate, or none.
///
/// What waits behind other gates, or for its time, is not what senders are busy with, and planning gives way to them only.
///
/// From the newest backwards: what was claimed, and cannot be vacuumed under an old snapshot, is older.
package struct AreManyWaiting: PostgresStatement {
    package static let name = "are_many_waiting"
    package static let sql = """
        SELECT count(*) >= $3 FROM fanfare.targets AS t CROSS JOIN LATERAL (
            SELECT FROM fanfare.batches AS b
            WHERE \(QueueSQL.waits("b", gate: "$4", target: "t.id", lane: "$2", isRetry: "false"))
                AND b.not_before <= statement_timestamp()
            ORDER BY b.not_before DESC, b.id DESC LIMIT $3
        ) AS w
        WHERE t.app_id = $1
        """

    package let app: Int16
    package let lane: Int16
    /// 0 for none.
    package let gate: Int32
    /// How many are many.
    package let limit: Int64

    package init(app: Int16, lane: Int16, gate: Int32 = 0, limit: Int64) {
        self.app = app
        self.lane = lane
        self.gate = gate
        self.limit = limit
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(lane)
        binds.append(limit)
        binds.append(gate)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
