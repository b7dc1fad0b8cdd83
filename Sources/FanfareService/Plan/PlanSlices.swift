internal import FanfareCore
internal import PostgresClient

/// One clause of a condition, topics by id: all of some, none of others.
///
/// No topics at all means every device.
struct PlannedClause: Equatable {
    var all: [Int32]
    var none: [Int32]
}

/// Opens the plan of an audience that is walked slice by slice.
struct OpenPlan: PostgresStatement {
    static let name = "open_plan"
    static let sql = """
        INSERT INTO fanfare.plans (event_id, rule_version, app_id, lane, clauses, last_device)
        SELECT $1, v.id, v.app_id, v.lane, $3::jsonb, (SELECT coalesce(max(id), 0) FROM fanfare.devices)
        FROM fanfare.rule_versions AS v WHERE v.id = $2
        """

    let eventID: Int64
    let ruleVersion: Int32
    let clauses: [PlannedClause]

    func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
        binds.append(ruleVersion)
        let objects = clauses.map { #"{"all":\#($0.all),"none":\#($0.none)}"# }
        binds.append("[\(objects.joined(separator: ","))]")
    }
}

/// The ids of topics by name; those that nobody ever subscribed to are missing.
struct TopicIDs: PostgresStatement {
    static let name = "topic_ids"
    static let sql = "SELECT name, id FROM fanfare.topics WHERE name = ANY ($1::text[])"

    let names: [String]

    func bind(to binds: inout PostgresBinds) {
        binds.append(names)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (name: String, id: Int32) {
        (try row.string(0), try row.int32(1))
    }
}

/// A plan that this session holds a lock on until its transaction ends.
struct OpenedPlan: Equatable {
    let eventID: Int64
    let ruleVersion: Int32
    let cursor: Int64
    let lastDevice: Int64
    let clauses: [PlannedClause]
    let isCancelled: Bool
    let app: Int16
    let lane: Int16
}

/// How far a slicer is in its rounds: the plan that last had its turn, of each lane.
struct PlanTurns: Equatable {
    fileprivate var events = [Int64](repeating: 0, count: Lane.allCases.count)
    fileprivate var ruleVersions = [Int32](repeating: 0, count: Lane.allCases.count)

    /// Gives the turn to whoever comes after a plan.
    mutating func took(_ plan: OpenedPlan) {
        events[Int(plan.lane)] = plan.eventID
        ruleVersions[Int(plan.lane)] = plan.ruleVersion
    }
}

/// Locks the plan whose turn it is: of the most urgent lane that has one, the next after the last, and then from the start.
///
/// Picked by the index's order, locked, and only then looked at. By the time of its last slice instead, each update would
/// need new entries in the indexes, and with 10,000 plans to look at and sort this took 21 ms.
struct LockPlan: PostgresStatement {
    static let name = "lock_plan"
    static let sql = """
        SELECT p.event_id, p.rule_version, p.cursor, p.last_device, c.alls, c.nones,
            EXISTS (
                SELECT FROM fanfare.cancels AS x
                WHERE x.event_id = p.event_id OR (x.type = e.type AND x.key = e.key AND x.created_at >= e.created_at))
            OR e.id IS NULL,
            p.app_id, p.lane
        FROM (
            SELECT t.* FROM unnest($1::bigint[], $2::int[]) WITH ORDINALITY AS l (event_id, rule_version, number)
            CROSS JOIN LATERAL (
                SELECT * FROM (
                    SELECT * FROM fanfare.plans
                    WHERE lane = l.number - 1 AND (event_id, rule_version) > (l.event_id, l.rule_version)
                    ORDER BY event_id, rule_version LIMIT 1 FOR UPDATE SKIP LOCKED
                ) AS next
                UNION ALL
                SELECT * FROM (
                    SELECT * FROM fanfare.plans WHERE lane = l.number - 1
                    ORDER BY event_id, rule_version LIMIT 1 FOR UPDATE SKIP LOCKED
                ) AS first
            ) AS t
            LIMIT 1
        ) AS p
        LEFT JOIN fanfare.event_log AS e ON e.day = fanfare.ring_day(p.event_id) AND e.id = p.event_id
        CROSS JOIN LATERAL (
            SELECT array_agg(ARRAY(SELECT jsonb_array_elements_text(clause -> 'all'))::text ORDER BY n) AS alls,
                array_agg(ARRAY(SELECT jsonb_array_elements_text(clause -> 'none'))::text ORDER BY n) AS nones
            FROM jsonb_array_elements(p.clauses) WITH ORDINALITY AS x (clause, n)
        ) AS c
        """

    var turns = PlanTurns()

    func bind(to binds: inout PostgresBinds) {
        binds.append(turns.events)
        binds.append(turns.ruleVersions)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> OpenedPlan {
        let alls = try row.strings(4)
        let nones = try row.strings(5)
        return OpenedPlan(
            eventID: try row.int64(0),
            ruleVersion: try row.int32(1),
            cursor: try row.int64(2),
            lastDevice: try row.int64(3),
            clauses: zip(alls, nones).map { PlannedClause(all: topicIDs($0), none: topicIDs($1)) },
            isCancelled: try row.bool(6),
            app: try row.int16(7),
            lane: try row.int16(8)
        )
    }

    /// The numbers of `{1,2,3}`.
    private static func topicIDs(_ literal: String) -> [Int32] {
        literal.dropFirst().dropLast().split(separator: ",").compactMap { Int32($0) }
    }
}

/// Moves a plan's cursor, or ends the plan when it has come to the last device.
struct AdvancePlan: PostgresStatement {
    static let name = "advance_plan"
    static let sql = """
        WITH finished AS (
            DELETE FROM fanfare.plans WHERE event_id = $1 AND rule_version = $2 AND $3::bigint >= last_device RETURNING 1
        )
        UPDATE fanfare.plans SET cursor = $3, advanced_at = clock_timestamp()
        WHERE event_id = $1 AND rule_version = $2 AND $3 < last_device
        """

    let plan: OpenedPlan
    let cursor: Int64

    func bind(to binds: inout PostgresBinds) {
        binds.append(plan.eventID)
        binds.append(plan.ruleVersion)
        binds.append(cursor)
    }
}

/// The statements that walk one slice.
///
/// Their text depends on the shape of the condition only: how many clauses, how many topics in each. The topics are
/// parameters.
struct SliceStatements {
    /// How many rows of each clause a slice scans; found or not, so that a slice's time is bounded.
    static let rows = 20_000

    let plan: OpenedPlan

    /// Where the slice ends: the least end of its clauses' scans, or the plan's end.
    ///
    /// Binds: cursor, last device, the first topic of each clause that has one.
    var boundSQL: String {
        var parameter = 2
        let ends = plan.clauses.map { clause in
            if !clause.all.isEmpty { parameter += 1 }
            let table =
                clause.all.isEmpty
                ? "SELECT id AS device_id FROM fanfare.devices WHERE id > $1"
                : "SELECT device_id FROM fanfare.subscriptions WHERE topic_id = $\(parameter) AND device_id > $1"
            return "(SELECT device_id FROM (\(table)) AS t ORDER BY device_id OFFSET \(Self.rows - 1) LIMIT 1)"
        }
        return "SELECT least($2::bigint, \(ends.joined(separator: ", ")))"
    }

    /// The values of ``boundSQL``.
    var boundBinds: [String] {
        [plan.cursor, plan.lastDevice].map { String($0) } + plan.clauses.compactMap { $0.all.first.map(String.init) }
    }

    /// The values of ``sliceSQL``.
    func sliceBinds(upTo end: Int64, batchSize: Int) -> [String] {
        let head = [plan.eventID, Int64(plan.ruleVersion), plan.cursor, end, Int64(batchSize)]
        return head.map { String($0) } + plan.clauses.flatMap { $0.all + $0.none }.map(String.init)
    }

    /// Turns the slice into batches.
    ///
    /// Binds: event, rule version, both ends, the batch size, all topics.
    ///
    /// One index probe per row and topic, fenced by OFFSET 0: joins would be as fast with honest statistics, and take
    /// minutes on tables that were just loaded.
    var sliceSQL: String {
        var parameter = 6
        let clauses = plan.clauses.map { clause in
            defer { parameter += clause.all.count + clause.none.count }
            return clauseSQL(clause, firstParameter: parameter)
        }
        return """
            WITH
            found AS MATERIALIZED (
                \(clauses.joined(separator: "\n    UNION\n    "))
            ),
            pairs AS (
                SELECT v.id AS rule_version, v.lane, $1::bigint AS event_id, d.target_id, d.id AS device_id
                FROM fanfare.rule_versions AS v
                CROSS JOIN found AS f
                CROSS JOIN LATERAL (SELECT * FROM fanfare.devices AS x WHERE x.id = f.device_id OFFSET 0) AS d
                WHERE v.id = $2 AND d.disabled_at IS NULL AND d.app_id = v.app_id AND d.kind = v.kind
                    AND (v.platform IS NULL OR d.platform = v.platform)
                    AND (v.devices_path IS NULL
                        OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), v.devices_path, '{}', true))
            ),
            \(queuePairsSQL(batchSize: "$5::int"))
            SELECT count(*)::int FROM queued
            """
    }

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

/// Whether many of an app's batches wait in a lane.
///
/// From the newest backwards: what was claimed, and cannot be vacuumed under an old snapshot, is older.
struct AreManyWaiting: PostgresStatement {
    static let name = "are_many_waiting"
    static let sql = """
        SELECT count(*) >= $3 FROM fanfare.targets AS t CROSS JOIN LATERAL (
            SELECT FROM fanfare.batches AS b
            WHERE b.owner IS NULL AND b.target_id = t.id AND b.lane = $2 AND NOT b.is_retry
            ORDER BY b.not_before DESC, b.id DESC LIMIT $3
        ) AS w
        WHERE t.app_id = $1
        """

    let app: Int16
    let lane: Int16
    /// How many are many.
    let limit: Int64

    func bind(to binds: inout PostgresBinds) {
        binds.append(app)
        binds.append(lane)
        binds.append(limit)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}
