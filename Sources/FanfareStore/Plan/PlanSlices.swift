internal import FanfareCore
package import PostgresClient

/// One clause of a condition, with topics by id: all of some, none of others.
///
/// A clause without topics means every device.
package struct PlannedClause: Equatable {
    package var all: [Int32]
    package var none: [Int32]

    package init(all: [Int32], none: [Int32]) {
        self.all = all
        self.none = none
    }

    /// Encodes clauses for statements; each topic appears once.
    package static func json(_ clauses: [PlannedClause]) -> String {
        let objects = clauses.map { clause in
            let all = clause.all.enumerated().filter { !clause.all.prefix($0.offset).contains($0.element) }.map(
                \.element
            )
            return #"{"all":\#(all),"none":\#(clause.none)}"#
        }
        return "[\(objects.joined(separator: ","))]"
    }
}

extension SQL {
    /// Opens the plan of an audience that is expanded in slices.
    ///
    /// For a campaign's run it waits behind the run's gate. It uses recipients' time if the run or the event does.
    ///
    /// Without clauses, the audience is stored in `fanfare.audiences`, which requires a run.
    ///
    /// Binds: eventID, ruleVersion, clauses.
    package static let openPlan = Statement<Void, Int64, Int32, String>(
        "open_plan",
        """
        INSERT INTO fanfare.plans (event_id, rule_version, app_id, lane, clauses, last_device, gate_id, wall, time_zone,
            held_gate_id, canary, canary_devices)
        SELECT $1, v.id, v.app_id, v.lane, $3::jsonb,
            CASE WHEN v.audience = 'staged' THEN 4294967296 ELSE (SELECT coalesce(max(id), 0) FROM fanfare.devices) END,
            coalesce(o.gate_id, v.gate_id), coalesce(o.wall, e.wall),
            CASE WHEN coalesce(o.wall, e.wall) IS NOT NULL THEN coalesce(c.default_time_zone, p.time_zone, 'UTC') END,
            coalesce(o.held_gate_id, 0),
            coalesce(ceil(o.canary_share * 4294967296), 0)::bigint, o.canary_devices
        FROM fanfare.rule_versions AS v
        LEFT JOIN (fanfare.runs AS o JOIN fanfare.campaigns AS c ON c.id = o.campaign_id)
            ON o.event_id = $1 AND c.rule_id = v.rule_id
        LEFT JOIN fanfare.event_log AS e ON e.day = fanfare.ring_day($1) AND e.id = $1
        LEFT JOIN fanfare.policies AS p ON p.app_id = v.app_id
        WHERE v.id = $2 AND (v.audience <> 'staged' OR o.id IS NOT NULL)
        """
    )

    /// Reads the ids of topics by name; topics that never had a subscription are missing.
    ///
    /// Binds: names.
    package static let topicIDs = Statement<(name: String, id: Int32), [String]>(
        "topic_ids",
        "SELECT name, id FROM fanfare.topics WHERE name = ANY ($1::text[])",
        row: { ($0, $1) }
    )
}

/// A plan that is locked by this session until its transaction ends.
package struct OpenedPlan: Equatable {
    package let eventID: Int64
    package let ruleVersion: Int32
    package let cursor: Int64
    package let lastDevice: Int64
    /// The audience's clauses; empty if the plan walks the event's users in `fanfare.audiences`, by their buckets.
    package let clauses: [PlannedClause]
    package let isCancelled: Bool
    package let app: Int16
    package let lane: Int16
    /// The gate that its batches wait behind; 0 for none.
    package let gate: Int32
    /// The plan's canary; nil for none.
    package var canary: PlannedCanary?
    /// The wall time at which a device's push is due; nil if all are due at once.
    package var wall: String?
    /// The time zone of devices without one, if there is a ``wall``.
    package var timeZone: String?
    /// The quiet hours until whose end its pushes are held; nil for none.
    package var quiet: PlannedQuiet?
    /// Whether its rule filters devices by permission or by what they present.
    package var filtersPermission = false
}

/// The quiet hours until whose end a plan's pushes are held.
///
/// The claim checks them again, and decides. But if batches mixed time zones, some of them in quiet hours, the claim
/// would have to split off a child batch for each of these.
package struct PlannedQuiet: Equatable {
    /// When they begin, as in `22:00`.
    package let from: String
    package let until: String
    /// The time zone of devices without one.
    package let timeZone: String
    /// How many seconds a delivery can wait after it is due.
    package let patience: Double
    /// When the event was emitted, as text; a delivery without a time of its own is due then.
    package let emittedAt: String
}

/// The canary of a plan: the devices that go first, and the gate that holds all others.
package struct PlannedCanary: Equatable {
    package let heldGate: Int32
    /// The bucket below which devices go first; nil while the audience is counted to compute it.
    package let bound: Int64?
}

/// A slicer's position in its rounds: the last plan in each lane.
package struct PlanTurns: Equatable {
    package init() {}

    fileprivate var events = [Int64](repeating: 0, count: Lane.allCases.count)
    fileprivate var ruleVersions = [Int32](repeating: 0, count: Lane.allCases.count)

    /// Passes the turn to the plan after this one.
    package mutating func took(_ plan: OpenedPlan) {
        events[Int(plan.lane)] = plan.eventID
        ruleVersions[Int(plan.lane)] = plan.ruleVersion
    }
}

/// Locks the next plan in turn: in the most urgent lane that has one, the plan after the last, and then from the start.
///
/// It picks plans in index order, locks one, and only then reads it. If it picked by the time of the last slice, each
/// update would need new index entries, and with 10,000 plans to read and sort this took 21 ms.
package struct LockPlan: PostgresStatement {
    package static let name = "lock_plan"
    package static let sql = """
        SELECT p.event_id, p.rule_version, p.cursor, p.last_device, c.alls, c.nones,
            EXISTS (
                SELECT FROM fanfare.cancels AS x
                WHERE x.event_id = p.event_id OR (x.type = e.type AND x.key = e.key
                    AND NOT fanfare.is_emitted_after(e.id, x.event_number)))
            OR e.id IS NULL,
            p.app_id, p.lane, p.gate_id, p.wall::text, p.time_zone, p.held_gate_id,
            CASE WHEN p.canary_devices IS NULL THEN p.canary END,
            q.quiet_from, q.quiet_until, q.time_zone, q.patience, e.created_at::text,
            coalesce((SELECT num_nonnulls(v.permissions, v.presents) > 0 FROM fanfare.rule_versions AS v WHERE v.id = p.rule_version), false)
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
        -- The rule's own quiet hours, or its app's, if they keep what comes in them.
        LEFT JOIN LATERAL (
            SELECT coalesce(r.own ->> 'from', o.quiet_from::text) AS quiet_from,
                coalesce(r.own ->> 'until', o.quiet_until::text) AS quiet_until, coalesce(o.time_zone, 'UTC') AS time_zone,
                least(coalesce(least(extract(epoch FROM e.ttl), r.ttl), 86400), \(TimeSpan.limit.seconds))::float8 AS patience
            FROM (
                SELECT v.app_id, v.lane, v.definition::jsonb -> 'quiet_hours' AS own,
                    fanfare.span_seconds(v.definition::jsonb ->> 'ttl') AS ttl
                FROM fanfare.rule_versions AS v WHERE v.id = p.rule_version
            ) AS r LEFT JOIN fanfare.policies AS o ON o.app_id = r.app_id
            WHERE CASE WHEN r.own IS NULL THEN r.lane > \(Lane.transactional.rawValue) AND o.quiet_mode = 'hold'
                ELSE r.own ? 'from' AND coalesce(r.own ->> 'mode', 'hold') = 'hold' END
        ) AS q ON e.id IS NOT NULL
        """

    package var turns = PlanTurns()

    package init(turns: PlanTurns = PlanTurns()) {
        self.turns = turns
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(turns.events)
        binds.append(turns.ruleVersions)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> OpenedPlan {
        let alls: [String] = try row.read(4) ?? []
        let nones: [String] = try row.read(5) ?? []
        let heldGate = try row.int32(12)
        let bound = try row.int64(orNil: 13)
        return OpenedPlan(
            eventID: try row.int64(0),
            ruleVersion: try row.int32(1),
            cursor: try row.int64(2),
            lastDevice: try row.int64(3),
            clauses: zip(alls, nones).map { PlannedClause(all: topicIDs($0), none: topicIDs($1)) },
            isCancelled: try row.bool(6),
            app: try row.int16(7),
            lane: try row.int16(8),
            gate: try row.int32(9),
            canary: heldGate == 0 ? nil : PlannedCanary(heldGate: heldGate, bound: bound),
            wall: try row.string(orNil: 10),
            timeZone: try row.string(orNil: 11),
            quiet: try quiet(row),
            filtersPermission: try row.bool(19)
        )
    }

    private static func quiet(_ row: borrowing PostgresRow) throws(PostgresError) -> PlannedQuiet? {
        guard let from = try row.string(orNil: 14), let emittedAt = try row.string(orNil: 18) else { return nil }
        return PlannedQuiet(
            from: from,
            until: try row.string(15),
            timeZone: try row.string(16),
            patience: try row.double(17),
            emittedAt: emittedAt
        )
    }

    /// Parses the numbers of `{1,2,3}`.
    private static func topicIDs(_ literal: String) -> [Int32] {
        literal.dropFirst().dropLast().split(separator: ",").compactMap { Int32($0) }
    }
}

/// Moves a plan's cursor, or ends the plan when it has reached the last device; a run's number of deliveries is then
/// stored.
///
/// A plan that counts its audience starts again at its end, once the canary is known.
package struct AdvancePlan: PostgresStatement {
    package static let name = "advance_plan"
    package static let sql = """
        WITH finished AS (
            DELETE FROM fanfare.plans
            WHERE event_id = $1 AND rule_version = $2 AND $3::bigint >= last_device AND ($5::boolean OR canary_devices IS NULL)
            RETURNING planned + $4 AS planned, gate_id
        ),
        told AS (
            UPDATE fanfare.runs AS o SET planned = o.planned + f.planned
            FROM finished AS f WHERE f.gate_id <> 0 AND o.event_id = $1
        )
        UPDATE fanfare.plans SET
            cursor = CASE WHEN $3 < last_device THEN $3 ELSE 0 END,
            planned = planned + CASE WHEN canary_devices IS NULL THEN $4 ELSE 0 END,
            counted = counted + CASE WHEN canary_devices IS NULL THEN 0 ELSE $4 END,
            canary = CASE WHEN canary_devices IS NULL OR $3 < last_device THEN canary
                ELSE ceil(4294967296 * least(1, canary_devices::float8 / greatest(counted + $4, 1))) END,
            canary_devices = CASE WHEN $3 < last_device THEN canary_devices END
        WHERE event_id = $1 AND rule_version = $2
            AND ($3 < last_device OR (canary_devices IS NOT NULL AND NOT $5))
        """

    package let plan: OpenedPlan
    package let cursor: Int64
    /// The number of the slice's deliveries.
    package let deliveries: Int64
    /// Whether the plan ends here, even if devices are left.
    package let isCancelled: Bool

    package init(plan: OpenedPlan, cursor: Int64, deliveries: Int64, isCancelled: Bool = false) {
        self.plan = plan
        self.cursor = cursor
        self.deliveries = deliveries
        self.isCancelled = isCancelled
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(plan.eventID)
        binds.append(plan.ruleVersion)
        binds.append(cursor)
        binds.append(deliveries)
        binds.append(isCancelled)
    }
}
