internal import FanfareCore
package import PostgresClient

/// The statements that expand one slice.
///
/// Their text depends only on the shape of the condition: the number of clauses, and of topics in each. The topics are
/// parameters.
package struct SliceStatements {
    /// The rows of each clause that a slice scans, matching or not, so that a slice's time is bounded.
    package static let rows = 20_000
    /// The rows if deliveries are due by time zone: with 30 zones, a smaller slice would leave batches of 300.
    package static let timedRows = 100_000

    package let plan: OpenedPlan

    private var rows: Int { isTimed ? Self.timedRows : Self.rows }
    /// Whether deliveries wait for a time in their devices' zones.
    private var isTimed: Bool { plan.wall != nil || plan.quiet != nil }

    package init(plan: OpenedPlan) {
        self.plan = plan
    }

    /// A query for the end of the slice, and for the number of rows that a single clause's scan finds up to it.
    ///
    /// The end is the least end of the clauses' scans, or the plan's end. The number is 0 if there are several clauses.
    ///
    /// Binds: cursor, last device, the first topic of each clause that has one; for a stored audience, the event.
    package var boundSQL: String {
        guard !plan.clauses.isEmpty else {
            return """
                SELECT least($2::bigint, (
                    SELECT bucket + 1 FROM fanfare.audiences WHERE event_id = $3 AND bucket >= $1
                    ORDER BY event_id, bucket, user_id OFFSET \(rows - 1) LIMIT 1)), 0
                """
        }
        var parameter = 2
        let scans = plan.clauses.map { clause in
            if !clause.all.isEmpty { parameter += 1 }
            return clause.all.isEmpty
                ? "SELECT id AS device_id FROM fanfare.devices WHERE id > $1"
                : "SELECT device_id FROM fanfare.subscriptions WHERE topic_id = $\(parameter) AND device_id > $1"
        }
        guard scans.count > 1 else {
            return """
                SELECT CASE WHEN count(*) < \(rows) THEN $2::bigint ELSE least($2::bigint, max(device_id)) END, count(*)
                FROM (SELECT device_id FROM (\(scans[0]) AND \(plan.clauses[0].all.isEmpty ? "id" : "device_id") <= $2) AS t
                    ORDER BY device_id LIMIT \(rows)) AS scanned
                """
        }
        let ends = scans.map { "(SELECT device_id FROM (\($0)) AS t ORDER BY device_id OFFSET \(rows - 1) LIMIT 1)" }
        return "SELECT least($2::bigint, \(ends.joined(separator: ", "))), 0"
    }

    /// The values of ``boundSQL``.
    package var boundBinds: [String] {
        [plan.cursor, plan.lastDevice].map { String($0) }
            + (plan.clauses.isEmpty
                ? [String(plan.eventID)] : plan.clauses.compactMap { $0.all.first.map(String.init) })
    }

    /// Turns the slice into batches, or only counts it while the plan's canary is not known.
    ///
    /// - Parameters:
    ///   - end: the end of the slice, from ``boundSQL``.
    ///   - scanned: the number of rows, from ``boundSQL``.
    ///   - batchSize: the most deliveries of one batch.
    ///   - connection: a connection in a transaction, which plans no nested loops from then on.
    /// - Returns: the number of deliveries, and whether one of them is due now.
    /// - Throws: errors of the server.
    package func expand(
        upTo end: Int64,
        of scanned: Int64,
        batchSize: Int,
        on connection: PostgresConnection
    ) throws(PostgresError) -> (deliveries: Int64, isDue: Bool) {
        // On tables that were just loaded, PostgreSQL would join the ranges of a dense slice by a nested loop, which
        // takes minutes. A LATERAL look-up is one in any case.
        try connection.execute("SET LOCAL enable_nestloop = off")
        let slice = slice(upTo: end, of: scanned, batchSize: batchSize)
        let row = try connection.query(slice.sql, binds: slice.binds).rows.first ?? []
        return (row.first.flatMap { $0 }.flatMap { Int64($0) } ?? 0, row.last == "t")
    }

    /// Returns a query that turns the slice into batches, with one row, as ``expand(upTo:of:batchSize:on:)`` returns it.
    ///
    /// The deliveries of each target, gate and time are one sorted array, which is cut into batches. Batches of several
    /// targets alternate as in ``queueDeliveriesSQL(batchSize:isPaced:owner:leaseToken:returning:)``.
    private func slice(upTo end: Int64, of scanned: Int64, batchSize: Int) -> (sql: String, binds: [String]) {
        var values = SliceValues()
        let version = values.bind(Int64(plan.ruleVersion), as: "int")
        let after = values.bind(plan.cursor, as: "bigint")
        let upTo = values.bind(end, as: "bigint")
        let devices = devicesSQL(
            after: after,
            upTo: upTo,
            isDense: isDense(upTo: end, of: scanned),
            &values
        )
        let isCounted = plan.canary.map { $0.bound == nil } ?? false
        let gate = values.bind(Int64(plan.gate), as: "int")
        let head = """
            WITH
            v AS MATERIALIZED (SELECT * FROM fanfare.rule_versions AS x WHERE x.id = \(version)),
            reached AS \(isTimed ? "MATERIALIZED " : "")(
                SELECT d.target_id, d.id AS device_id, \(gateSQL(gate, &values)) AS gate_id\(
                    isTimed ? ", coalesce(d.time_zone, '') AS zone" : "")
                FROM \(devices) AND d.disabled_at IS NULL AND d.app_id = (SELECT v.app_id FROM v) AND d.kind = (SELECT v.kind FROM v)
                    AND ((SELECT v.provider FROM v) IS NULL OR d.provider = (SELECT v.provider FROM v))
                    AND ((SELECT v.devices_path FROM v) IS NULL OR jsonb_path_match_tz(
                        coalesce(d.attributes, '{}'), (SELECT v.devices_path FROM v), '{}', true))\(plan.filtersPermission ? PermissionSQL.ofPlan : "")
            )
            """
        guard !isCounted else { return ("\(head)\nSELECT count(*), true FROM reached", values.all) }
        let size = QueueSQL.batchSize(values.bind(Int64(batchSize), as: "int"), gate: gate)
        let event = values.bind(plan.eventID, as: "bigint")
        let (times, held) = isTimed ? (", due_at, not_before", Int32(RetryHistory.none.held.encoded)) : ("", 0)
        let sql = """
            \(head),
            \(timesSQL(&values))
            whole AS MATERIALIZED (
                SELECT target_id, gate_id\(times), array_agg(device_id ORDER BY device_id) AS ids
                FROM \(isTimed ? "deliveries" : "reached")
                GROUP BY target_id, gate_id\(times)
            ),
            \(pacedSQL)queued AS (
                INSERT INTO fanfare.batches (rule_version, lane, target_id, event_id, device_ids, gate_id\(times), history)
                SELECT v.id,
                    CASE WHEN w.gate_id = 0 THEN v.lane
                        ELSE coalesce((SELECT g.lane FROM fanfare.gates AS g WHERE g.id = w.gate_id), v.lane) END,
                    w.target_id, \(event), w.ids[i:i + s.size - 1], w.gate_id\(times),
                    \(isTimed ? "CASE WHEN not_before > coalesce(due_at, statement_timestamp()) THEN \(held) ELSE 0 END" : "0")
                FROM v CROSS JOIN whole AS w
                CROSS JOIN LATERAL (
                    SELECT CASE WHEN v.lane > \(Lane.transactional.rawValue)
                        THEN least((SELECT \(size)), (SELECT p.batch_size FROM paced AS p WHERE p.target_id = w.target_id))
                        ELSE (SELECT \(size)) END AS size OFFSET 0
                ) AS s
                CROSS JOIN LATERAL generate_series(1, cardinality(w.ids), s.size) AS i
                ORDER BY ((i - 1) / s.size + 0.5) / ((cardinality(w.ids) - 1) / s.size + 1)
                RETURNING cardinality(device_ids) AS deliveries, not_before <= statement_timestamp() AS is_due
            )
            SELECT coalesce(sum(deliveries), 0), coalesce(bool_or(is_due), false) FROM queued
            """
        return (sql, values.all)
    }

    /// Whether the ids of the slice's devices are so close together that reading the range of `devices` is faster than
    /// one look-up for each device: up to four ids for each.
    private func isDense(upTo end: Int64, of scanned: Int64) -> Bool {
        scanned > 0 && (end - plan.cursor) / 4 <= scanned
    }

    /// Returns the slice's devices `d`, as a FROM list and the beginning of its WHERE clause.
    ///
    /// A dense slice reads its range of `devices`, beside the range of the first topic. Any other slice looks up each
    /// device, fenced by OFFSET 0: a join would be as fast with accurate statistics, but takes minutes on tables that
    /// were just loaded.
    private func devicesSQL(
        after: String,
        upTo: String,
        isDense: Bool,
        _ values: inout SliceValues
    ) -> String {
        guard isDense else {
            let found =
                plan.clauses.isEmpty
                ? [storedSQL(after: after, upTo: upTo, &values)]
                : plan.clauses.map { clauseSQL($0, after: after, upTo: upTo, &values) }
            return """
                (
                    \(found.joined(separator: "\n    UNION\n    "))
                ) AS f
                CROSS JOIN LATERAL (SELECT * FROM fanfare.devices AS x WHERE x.id = f.device_id OFFSET 0) AS d
                WHERE true
                """
        }
        let topics = Topics(of: plan.clauses[0], device: "d.id", &values)
        let range = "d.id > \(after) AND d.id <= \(upTo)"
        guard let first = topics.first else {
            return "fanfare.devices AS d\nWHERE \(range)\(topics.conditions)"
        }
        return """
            fanfare.subscriptions AS a JOIN fanfare.devices AS d ON d.id = a.device_id
            WHERE a.topic_id = \(first) AND a.device_id > \(after) AND a.device_id <= \(upTo) AND \(range)\(topics.conditions)
            """
    }

    /// Returns SQL for the gate that a device `d` waits behind.
    private func gateSQL(_ gate: String, _ values: inout SliceValues) -> String {
        guard let canary = plan.canary, let bound = canary.bound else { return gate }
        return """
            CASE WHEN fanfare.bucket(\(values.bind(plan.eventID, as: "bigint")) || ':canary', coalesce(d.user_id, 'device:' || d.id)) < \(values.bind(bound, as: "bigint"))
                THEN \(gate) ELSE \(values.bind(Int64(canary.heldGate), as: "int")) END
            """
    }

    /// Returns the CTE `deliveries`, with the times when each is due and may be sent, computed once for each zone.
    private func timesSQL(_ values: inout SliceValues) -> String {
        guard isTimed else { return "" }
        let due =
            plan.wall.map { wall in
                let zone = "fanfare.zone(z.zone, \(values.bind(plan.timeZone ?? "UTC", as: "text")))"
                return "fanfare.instant(\(values.bind(wall, as: "timestamp")), \(zone))"
            } ?? "NULL::timestamptz"
        return """
            zones AS MATERIALIZED (
                SELECT i.zone, i.due_at, \(notBeforeSQL(&values)) AS not_before
                FROM (SELECT z.zone, \(due) AS due_at FROM (SELECT DISTINCT zone FROM reached) AS z OFFSET 0) AS i
            ),
            deliveries AS (
                SELECT r.target_id, r.device_id, r.gate_id, z.due_at, z.not_before
                FROM reached AS r JOIN zones AS z USING (zone)
            ),
            """
    }

    /// Returns SQL for when a zone `i` may get its pushes: at the end of its quiet hours, if they are due within those.
    ///
    /// Deliveries that would have expired by then are claimed now, and end as expired.
    private func notBeforeSQL(_ values: inout SliceValues) -> String {
        let start = "greatest(i.due_at, statement_timestamp())"
        guard let quiet = plan.quiet else { return start }
        let zone = "fanfare.zone(i.zone, \(values.bind(quiet.timeZone, as: "text")))"
        let (from, until) = (values.bind(quiet.from, as: "time"), values.bind(quiet.until, as: "time"))
        let base = "coalesce(i.due_at, \(values.bind(quiet.emittedAt, as: "timestamptz")))"
        let patience = values.bind(quiet.patience, as: "float8")
        return """
            coalesce((SELECT w.wakes FROM (SELECT fanfare.wakes_at(\(start), \(zone), \(from), \(until)) AS wakes OFFSET 0) AS w
                WHERE w.wakes < \(base) + \(patience) * interval '1 second'), \(start))
            """
    }

    /// Returns a query for the devices of users whose buckets are below the slice's end.
    ///
    /// Buckets are taken as a whole, so that no user is missed.
    private func storedSQL(after: String, upTo: String, _ values: inout SliceValues) -> String {
        """
        SELECT d.id AS device_id FROM fanfare.audiences AS a
        CROSS JOIN LATERAL (
            SELECT x.id FROM fanfare.devices AS x
            WHERE x.app_id = (SELECT v.app_id FROM v) AND x.user_id = a.user_id
            OFFSET 0
        ) AS d
        WHERE a.event_id = \(values.bind(plan.eventID, as: "bigint")) AND a.bucket >= \(after) AND a.bucket < \(upTo)
        """
    }

    private func clauseSQL(
        _ clause: PlannedClause,
        after: String,
        upTo: String,
        _ values: inout SliceValues
    ) -> String {
        let topics = Topics(of: clause, device: clause.all.isEmpty ? "a.id" : "a.device_id", &values)
        let driver =
            topics.first.map { topic in
                """
                SELECT a.device_id FROM fanfare.subscriptions AS a
                WHERE a.topic_id = \(topic) AND a.device_id > \(after) AND a.device_id <= \(upTo)
                """
            } ?? "SELECT a.id AS device_id FROM fanfare.devices AS a WHERE a.id > \(after) AND a.id <= \(upTo)"
        return driver + topics.conditions
    }

    /// A clause's topics as SQL.
    private struct Topics {
        /// The topic whose subscriptions are scanned; nil if the clause requires none.
        let first: String?
        /// Conditions for all its other topics, each beginning with AND.
        let conditions: String

        init(of clause: PlannedClause, device: String, _ values: inout SliceValues) {
            let topics = (clause.all + clause.none).map { values.bind(Int64($0), as: "int") }
            let all = topics.prefix(clause.all.count)
            first = all.first
            let others = all.dropFirst().map { " AND " + Self.probe($0, device: device) }
            let excluded = topics.dropFirst(all.count).map { " AND NOT " + Self.probe($0, device: device) }
            conditions = (others + excluded).joined()
        }

        private static func probe(_ topic: String, device: String) -> String {
            """
            EXISTS (SELECT FROM fanfare.subscriptions AS s
                WHERE s.topic_id = \(topic) AND s.device_id = \(device) OFFSET 0)
            """
        }
    }
}

/// The values of a composed statement, in the order of their numbers.
private struct SliceValues {
    private(set) var all: [String] = []

    /// Appends a value and returns the SQL for it.
    mutating func bind(_ value: some LosslessStringConvertible, as type: String) -> String {
        all.append(String(value))
        return "$\(all.count)::\(type)"
    }
}
