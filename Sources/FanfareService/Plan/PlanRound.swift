internal import PostgresClient

/// A rule that took an event, and of which more is to do than one statement can: its audience or its collapse id must
/// be rendered.
struct DeferredMatch: Equatable {
    let eventID: Int64
    let ruleVersion: Int32
    /// The event as JSON text: `type`, `key`, `payload`.
    let event: String
}

/// What one round did.
struct PlanRoundSummary {
    var taken = 0
    var batches = 0
    var lastXID: String?
    var lastID: Int64 = 0
    var snapshot: OutboxSnapshot?
    /// Events by the number of their fate.
    var fates: [Int32: Int64] = [:]
    var deferred: [DeferredMatch] = []

    init(_ parts: [PlanRoundPart]) {
        for part in parts {
            switch part {
            case .totals(let taken, let batches, let snapshot):
                self.taken = Int(taken)
                self.batches = Int(batches)
                self.snapshot = OutboxSnapshot(snapshot)
            case .last(let xid, let id):
                lastXID = xid
                lastID = id
            case .fate(let fate, let events): fates[fate] = events
            case .deferred(let match): deferred.append(match)
            }
        }
    }
}

/// One row of a round's answer, which has several kinds of them.
enum PlanRoundPart {
    case totals(taken: Int64, batches: Int32, snapshot: String)
    case last(xid: String, id: Int64)
    case fate(Int32, events: Int64)
    case deferred(DeferredMatch)

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        switch try row.int16(0) {
        case 0: .totals(taken: try row.int64(1), batches: try row.int32(2), snapshot: try row.string(3))
        case 1: .last(xid: try row.string(3), id: try row.int64(1))
        case 2: .fate(try row.int32(2), events: try row.int64(1))
        default:
            .deferred(
                DeferredMatch(
                    eventID: try row.int64(1),
                    ruleVersion: try row.int32(2),
                    event: try row.string(3)
                )
            )
        }
    }
}

/// Plans a set of events in one statement: out of the outbox, past keys and rules, into batches and the log.
struct PlanRound: PostgresStatement {
    static let name = "plan_round"
    static let sql = planRoundSQL(taking: takeSQL(queue: "fanfare.outbox"), batchSize: "$6::int")

    let floor: OutboxFloor
    let limit: Int
    let batchSize: Int

    func bind(to binds: inout PostgresBinds) {
        binds.append(floor.open)
        binds.append(floor.next)
        binds.append(floor.afterXID)
        binds.append(floor.afterID)
        binds.append(Int32(limit))
        binds.append(Int32(batchSize))
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}

/// Where an event lies in the side queue.
struct SlowEvent: Equatable {
    let xid: String
    let id: Int64
}

/// The first event of the side queue.
struct NextSlowEvent: PostgresStatement {
    static let name = "next_slow_event"
    static let sql = "SELECT xid::text, id FROM fanfare.outbox_slow ORDER BY xid, id LIMIT 1"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> SlowEvent {
        SlowEvent(xid: try row.string(0), id: try row.int64(1))
    }
}

/// Plans one event whose set failed, alone, so that an error is its own.
struct PlanSlowEvent: PostgresStatement {
    static let name = "plan_slow_event"
    static let sql = planRoundSQL(taking: takeOneSQL, batchSize: "$3::int")

    let event: SlowEvent
    let batchSize: Int

    func bind(to binds: inout PostgresBinds) {
        binds.append(event.xid)
        binds.append(event.id)
        binds.append(Int32(batchSize))
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}

/// Moves the set that a failed round would have taken to the side queue, without looking at it.
struct SetAside: PostgresStatement {
    static let name = "set_aside"
    static let sql = """
        WITH \(takeSQL(queue: "fanfare.outbox")),
        moved AS (
            INSERT INTO fanfare.outbox_slow (xid, id, created_at, type, key, ttl, payload)
            SELECT xid, id, created_at, type, key, ttl, payload FROM taken
            RETURNING id
        )
        SELECT count(*) FROM moved
        """

    let floor: OutboxFloor
    let limit: Int

    func bind(to binds: inout PostgresBinds) {
        binds.append(floor.open)
        binds.append(floor.next)
        binds.append(floor.afterXID)
        binds.append(floor.afterID)
        binds.append(Int32(limit))
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int {
        Int(try row.int64(0))
    }
}

/// Ends an event of the side queue as refused: the error was its own.
struct RefuseSlowEvent: PostgresStatement {
    static let name = "refuse_slow_event"
    static let sql = """
        WITH \(takeOneSQL)
        INSERT INTO fanfare.event_log (day, id, created_at, type, key, ttl, payload, detail, fate)
        SELECT fanfare.ring_day(id), id, created_at, type, key, ttl, payload, $3, 6 FROM taken
        RETURNING id
        """

    /// The one that failed: others may have come before it meanwhile.
    let event: SlowEvent
    let detail: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(event.xid)
        binds.append(event.id)
        binds.append(detail)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// The CTEs that take a set of events: what was open at the last pass's snapshot first, then what began since.
///
/// By ctid, because a join back by key became a scan; safe here, since rows of the outbox are never updated. One row
/// comparison bounds the second look: of `xid >= …` beside another, the index took the looser one, and a round walked past
/// every entry that was dead and not yet vacuumed (2.4 ms instead of 0.6 after 64,000 events).
private func takeSQL(queue: String) -> String {
    """
    opened AS MATERIALIZED (
        SELECT ARRAY(
            SELECT ctid FROM \(queue)
            WHERE xid = ANY ($1::text[]::xid8[]) AND (xid, id) > ($3::text::xid8, $4::bigint)
            ORDER BY xid, id LIMIT $5::int FOR UPDATE SKIP LOCKED) AS rows
    ),
    taken AS (
        DELETE FROM \(queue)
        WHERE ctid = ANY ((SELECT rows FROM opened) || ARRAY(
            SELECT ctid FROM \(queue)
            WHERE (xid, id) > (greatest($2::text::xid8, $3::text::xid8),
                CASE WHEN $3::text::xid8 >= $2::text::xid8 THEN $4::bigint ELSE 0 END)
            ORDER BY xid, id LIMIT (SELECT $5::int - cardinality(rows) FROM opened) FOR UPDATE SKIP LOCKED))
        RETURNING xid, id, created_at, type, key, ttl, payload
    )
    """
}

/// The CTE that takes one event out of the side queue, or none if it is gone.
private let takeOneSQL = """
    taken AS (
        DELETE FROM fanfare.outbox_slow WHERE xid = $1::text::xid8 AND id = $2::bigint
        RETURNING xid, id, created_at, type, key, ttl, payload
    )
    """

private func planRoundSQL(taking: String, batchSize: String) -> String {
    """
    WITH
    -- 1. Take a set of events out of the queue.
    \(taking),
    -- 2. What needs neither key nor rule to be decided.
    judged AS MATERIALIZED (
        SELECT t.id, t.created_at, t.type, t.key, t.ttl, t.payload,
            CASE
                WHEN jsonb_typeof(t.payload) <> 'object' THEN 'the payload is no JSON object'
                -- As text, which is what is read for sending: twelve stored bytes can be a number of 131,072 digits.
                WHEN octet_length(t.payload::text) > 65536 THEN 'the payload has more than 65536 bytes'
                WHEN jsonb_path_exists(t.payload, '$.**{33}') THEN 'the payload is nested more than 32 levels deep'
            END AS refusal,
            -- Mostly there are none, and no event needs a look.
            EXISTS (SELECT FROM fanfare.cancels) AND (
                EXISTS (SELECT FROM fanfare.cancels AS c WHERE c.event_id = t.id)
                OR t.key IS NOT NULL AND EXISTS (
                    SELECT FROM fanfare.cancels AS c
                    WHERE c.type = t.type AND c.key = t.key AND c.created_at >= t.created_at)) AS is_cancelled
        FROM taken AS t
    ),
    -- 3. Keys decide who is first. In key order, or two planners deadlock. A key whose holder was cancelled is free: a
    --    newcomer under it that is not cancelled itself was emitted afterwards.
    firsts AS (
        INSERT INTO fanfare.event_keys AS k (type, key, event_id, created_at)
        SELECT DISTINCT ON (type, key) type, key, id, created_at FROM judged
        WHERE key IS NOT NULL AND NOT is_cancelled ORDER BY type, key, created_at, id
        ON CONFLICT (type, key) DO UPDATE SET event_id = excluded.event_id, created_at = excluded.created_at
        WHERE EXISTS (SELECT FROM fanfare.cancels) AND (
            EXISTS (SELECT FROM fanfare.cancels AS c WHERE c.event_id = k.event_id)
            OR EXISTS (
                SELECT FROM fanfare.cancels AS c
                WHERE c.type = k.type AND c.key = k.key AND c.created_at >= k.created_at))
        RETURNING event_id
    ),
    -- 4. Rules; one row without a rule for an event that none took. The look-up is fenced by OFFSET 0 and conditions
    --    run last, each under CASE: in one join condition the jsonpath ran before the type was compared.
    matches AS MATERIALIZED (
        SELECT j.*, r.*,
            j.created_at + coalesce(least(j.ttl, r.rule_ttl), interval '24 hours') > statement_timestamp() AS is_live
        FROM (
            -- NOT IN, because it is hashed where NOT EXISTS becomes a nested loop.
            SELECT e.*, e.key IS NOT NULL AND e.id NOT IN (SELECT event_id FROM firsts) AS is_duplicate
            FROM judged AS e
            OFFSET 0
        ) AS j
        LEFT JOIN LATERAL (
            SELECT * FROM (
                SELECT v.id AS rule_version, v.app_id, v.audience, v.audience_path, v.devices_path, v.kind, v.platform,
                    v.lane, v.ttl AS rule_ttl, v.when_path, v.supersede
                FROM fanfare.rule_versions AS v
                WHERE v.event_type = j.type AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled
                    AND v.rule_created_at <= j.created_at
                OFFSET 0
            ) AS v
            WHERE CASE
                WHEN j.refusal IS NOT NULL OR j.is_cancelled OR j.is_duplicate THEN false
                WHEN v.when_path IS NULL THEN true
                ELSE jsonb_path_match_tz(j.payload, v.when_path, '{}', true)
            END
        ) AS r ON true
    ),
    -- 5. Users named in the payload, and their devices; a payload may name a user twice.
    pairs AS MATERIALIZED (
        SELECT DISTINCT m.rule_version, m.lane, m.id AS event_id, d.target_id, d.id AS device_id
        FROM matches AS m
        CROSS JOIN LATERAL (
            SELECT item #>> '{}' AS user_id FROM jsonb_path_query_tz(m.payload, m.audience_path, '{}', true) AS item
            WHERE jsonb_typeof(item) IN ('string', 'number', 'boolean')
            OFFSET 0
        ) AS u
        CROSS JOIN LATERAL (
            SELECT x.id, x.target_id, x.attributes, x.platform, x.kind, x.disabled_at FROM fanfare.devices AS x
            WHERE x.app_id = m.app_id AND x.user_id = u.user_id
            OFFSET 0
        ) AS d
        WHERE m.audience = 'users' AND m.is_live
            AND d.disabled_at IS NULL AND d.kind = m.kind AND (m.platform IS NULL OR d.platform = m.platform)
            AND (m.devices_path IS NULL
                OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), m.devices_path, '{}', true))
    ),
    -- 6. Pairs travel together: so many of one rule version and one target at most.
    \(queuePairsSQL(batchSize: batchSize)),
    -- 7. Every event ends in the log, with its fate.
    logged AS (
        INSERT INTO fanfare.event_log (day, id, created_at, type, key, ttl, payload, detail, fate)
        SELECT DISTINCT ON (m.id) fanfare.ring_day(m.id), m.id, m.created_at, m.type, m.key, m.ttl, m.payload, m.refusal,
            CASE
                WHEN m.refusal IS NOT NULL THEN 6
                WHEN m.is_cancelled THEN 4
                WHEN m.is_duplicate THEN 2
                WHEN m.rule_version IS NOT NULL AND m.is_live THEN 1
                WHEN NOT m.is_live THEN 5
                ELSE 3
            END
        FROM matches AS m
        ORDER BY m.id, m.is_live DESC
        RETURNING fate
    )
    SELECT 0::smallint, (SELECT count(*) FROM taken), (SELECT count(*)::int FROM queued), pg_current_snapshot()::text
    UNION ALL
    (SELECT 1::smallint, t.id, 0, t.xid::text FROM taken AS t ORDER BY t.xid DESC, t.id DESC LIMIT 1)
    UNION ALL
    SELECT 2::smallint, count(*), fate::int, NULL FROM logged GROUP BY fate
    UNION ALL
    SELECT 3::smallint, id, rule_version, jsonb_build_object('type', type, 'key', key, 'payload', payload)::text
    FROM matches WHERE is_live AND (audience <> 'users' OR supersede)
    """
}
