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

    /// A query for the end of the slice: the least end of its clauses' scans, or the plan's end.
    ///
    /// Binds: cursor, last device, the first topic of each clause that has one; for a stored audience, the event.
    package var boundSQL: String {
        guard !plan.clauses.isEmpty else {
            return """
                SELECT least($2::bigint, (
                    SELECT bucket + 1 FROM fanfare.audiences WHERE event_id = $3 AND bucket >= $1
                    ORDER BY event_id, bucket, user_id OFFSET \(rows - 1) LIMIT 1))
                """
        }
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
        [plan.cursor, plan.lastDevice].map { String($0) }
            + (plan.clauses.isEmpty
                ? [String(plan.eventID)] : plan.clauses.compactMap { $0.all.first.map(String.init) })
    }

    /// Returns a query that turns the slice into batches, or only counts it while the plan's canary is not known.
    ///
    /// One index probe per row and topic, fenced by OFFSET 0: joins would be as fast with accurate statistics, but take
    /// minutes on tables that were just loaded.
    ///
    /// - Parameters:
    ///   - end: the end of the slice, from ``boundSQL``.
    ///   - batchSize: the most deliveries of one batch.
    /// - Returns: a query with one row, the number of deliveries and whether one of them is due now; and its values.
    package func slice(upTo end: Int64, batchSize: Int) -> (sql: String, binds: [String]) {
        var values = SliceValues()
        let event = values.bind(plan.eventID, as: "bigint")
        let version = values.bind(Int64(plan.ruleVersion), as: "int")
        let after = values.bind(plan.cursor, as: "bigint")
        let upTo = values.bind(end, as: "bigint")
        let found =
            plan.clauses.isEmpty
            ? [storedSQL(event: event, version: version, after: after, upTo: upTo)]
            : plan.clauses.map { clauseSQL($0, after: after, upTo: upTo, &values) }
        let isCounted = plan.canary.map { $0.bound == nil } ?? false
        let gate = values.bind(Int64(plan.gate), as: "int")
        let head = """
            WITH
            found AS MATERIALIZED (
                \(found.joined(separator: "\n    UNION\n    "))
            ),
            reached AS \(isTimed ? "MATERIALIZED " : "")(
                SELECT v.id AS rule_version, v.lane, \(event) AS event_id, d.target_id, d.id AS device_id,
                    \(gateSQL(gate, event: event, &values)) AS gate_id, \(isTimed ? "coalesce(d.time_zone, '')" : "NULL") AS zone
                FROM fanfare.rule_versions AS v
                CROSS JOIN found AS f
                CROSS JOIN LATERAL (SELECT * FROM fanfare.devices AS x WHERE x.id = f.device_id OFFSET 0) AS d
                WHERE v.id = \(version) AND d.disabled_at IS NULL AND d.app_id = v.app_id AND d.kind = v.kind
                    AND (v.provider IS NULL OR d.provider = v.provider)
                    AND (v.devices_path IS NULL
                        OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), v.devices_path, '{}', true))
            )
            """
        guard !isCounted else { return ("\(head)\nSELECT count(*), true FROM reached", values.all) }
        let size = QueueSQL.batchSize(values.bind(Int64(batchSize), as: "int"), gate: gate)
        let sql = """
            \(head),
            \(timesSQL(&values))
            \(queueDeliveriesSQL(
                batchSize: "(SELECT \(size))",
                isTimed: isTimed,
                returning: "cardinality(device_ids) AS deliveries, not_before <= statement_timestamp() AS is_due"
            ))
            SELECT coalesce(sum(deliveries), 0), coalesce(bool_or(is_due), false) FROM queued
            """
        return (sql, values.all)
    }

    /// Returns SQL for the gate that a device `d` waits behind.
    private func gateSQL(_ gate: String, event: String, _ values: inout SliceValues) -> String {
        guard let canary = plan.canary, let bound = canary.bound else { return gate }
        return """
            CASE WHEN fanfare.bucket(\(event) || ':canary', coalesce(d.user_id, 'device:' || d.id)) < \(values.bind(bound, as: "bigint"))
                THEN \(gate) ELSE \(values.bind(Int64(canary.heldGate), as: "int")) END
            """
    }

    /// Returns the CTE `deliveries`, with the times when each is due and may be sent, computed once for each zone.
    private func timesSQL(_ values: inout SliceValues) -> String {
        guard isTimed else { return "deliveries AS (SELECT * FROM reached)," }
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
                SELECT r.rule_version, r.lane, r.event_id, r.target_id, r.device_id, r.gate_id, z.due_at, z.not_before
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
    private func storedSQL(event: String, version: String, after: String, upTo: String) -> String {
        """
        SELECT d.id AS device_id FROM fanfare.audiences AS a
        CROSS JOIN LATERAL (
            SELECT x.id FROM fanfare.devices AS x
            WHERE x.app_id = (SELECT w.app_id FROM fanfare.rule_versions AS w WHERE w.id = \(version))
                AND x.user_id = a.user_id
            OFFSET 0
        ) AS d
        WHERE a.event_id = \(event) AND a.bucket >= \(after) AND a.bucket < \(upTo)
        """
    }

    private func clauseSQL(_ clause: PlannedClause, after: String, upTo: String, _ values: inout SliceValues) -> String
    {
        let topics = (clause.all + clause.none).map { values.bind(Int64($0), as: "int") }
        let all = topics.prefix(clause.all.count)
        let device = all.isEmpty ? "a.id" : "a.device_id"
        let others = all.dropFirst().map { " AND " + probe($0, device: device) }
        let excluded = topics.dropFirst(all.count).map { " AND NOT " + probe($0, device: device) }
        let driver =
            all.first.map { topic in
                """
                SELECT a.device_id FROM fanfare.subscriptions AS a
                WHERE a.topic_id = \(topic) AND a.device_id > \(after) AND a.device_id <= \(upTo)
                """
            } ?? "SELECT a.id AS device_id FROM fanfare.devices AS a WHERE a.id > \(after) AND a.id <= \(upTo)"
        return driver + (others + excluded).joined()
    }

    private func probe(_ topic: String, device: String) -> String {
        """
        EXISTS (SELECT FROM fanfare.subscriptions AS s
            WHERE s.topic_id = \(topic) AND s.device_id = \(device) OFFSET 0)
        """
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

extension SQL {
    /// Whether many of an app's batches are due in a lane behind some gates.
    ///
    /// Batches behind other gates, or not yet due, do not keep senders busy, so planning does not yield to them.
    ///
    /// It reads from the newest backwards: claimed entries that cannot be vacuumed under an old snapshot are older.
    ///
    /// Binds: app, lane, limit, gates.
    package static let areManyWaiting = Statement<Bool, Int16, Int16, Int64, [Int32]>(
        "are_many_waiting",
        """
        SELECT count(*) >= $3 FROM fanfare.targets AS t CROSS JOIN unnest($4::int[]) AS g (id) CROSS JOIN LATERAL (
            SELECT FROM fanfare.batches AS b
            WHERE \(QueueSQL.waits("b", gate: "g.id", target: "t.id", lane: "$2", isRetry: "false"))
                AND b.not_before <= statement_timestamp()
            ORDER BY b.not_before DESC, b.id DESC LIMIT $3
        ) AS w
        WHERE t.app_id = $1
        """
    )
}
