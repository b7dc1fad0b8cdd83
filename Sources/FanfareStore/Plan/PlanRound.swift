package import PostgresClient

/// Plans a set of events in one statement: takes them from the outbox, checks keys, matches rules, and writes batches
/// and the log.
///
/// It takes the next events of any type, but none while events wait for unchecked rules. ``PlanChosen`` then selects by
/// type, a check that would slow down a lone event.
package struct PlanRound: PostgresStatement {
    package static let name = "plan_round"
    package static let sql = planRoundSQL(
        taking: OutboxQuery.takeSQL(where: "NOT EXISTS (SELECT FROM unjudged)"),
        batchSize: "$6::int",
        isOfOutbox: true,
        isPaced: false
    )

    package let floor: OutboxFloor
    package let limit: Int
    package let batchSize: Int
    /// The claim of its batches if it takes a single event; nil for none.
    package var claim: LoneClaim?

    package init(floor: OutboxFloor, limit: Int, batchSize: Int, claim: LoneClaim? = nil) {
        self.floor = floor
        self.limit = limit
        self.batchSize = batchSize
        self.claim = claim
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(floor)
        binds.append(Int32(limit))
        binds.append(Int32(batchSize))
        binds.append(claim?.places.map(\.number) ?? [])
        binds.append(claim?.owner ?? 0)
        binds.append(claim?.leaseToken ?? 0)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}

/// The statement that plans a set of events.
///
/// - Parameters:
///   - taking: the CTE `taken`, with the CTEs that it needs.
///   - batchSize: the parameter with the most deliveries of a batch.
///   - isOfOutbox: whether events come from the outbox; the batches of a lone one are then claimed at once, by `$7` to
///     `$9`.
///   - isPaced: whether rates of apps and providers apply.
/// - Returns: the statement, whose rows are ``PlanRoundPart``s.
func planRoundSQL(taking: String, batchSize: String, isOfOutbox: Bool = false, isPaced: Bool = true) -> String {
    """
    WITH
    -- 1. Take a set of events out of the queue.
    \(taking),
    -- 2. What needs neither key nor rule to be decided.
    judged AS MATERIALIZED (
        SELECT t.id, t.created_at, t.type, t.key, t.ttl, t.payload, t.replay_of, t.only_app, t.only_user, t.trace, t.wall,
            CASE
                -- Only what emit did not see: a row that an emitter inserted, or a change of a table that was watched before.
                WHEN NOT t.own AND fanfare.is_reserved(t.type) THEN 'events of this type are emitted by Fanfare only'
                -- No rule has a longer one, and an entry of the index on keys holds no more.
                WHEN octet_length(t.type) > 255 THEN 'the type has more than 255 bytes'
                WHEN octet_length(t.key) > 2048 THEN 'the key has more than 2048 bytes'
                -- A watch stores a row that it cannot emit as an array with the reason.
                WHEN jsonb_typeof(t.payload) <> 'object' THEN
                    coalesce(CASE WHEN t.payload ->> 0 = 'fanfare.watch_table' THEN left(t.payload ->> 1, 2000) END, 'the payload is not a JSON object')
                -- As text, which is what is read for sending: twelve stored bytes can be a number of 131,072 digits.
                -- What is made of gathered events has three members more than one of them.
                WHEN octet_length(t.payload::text) > 65536 AND (t.type NOT LIKE 'digest.%' OR octet_length(t.payload::text) > 65792) THEN 'the payload has more than 65536 bytes'
                WHEN jsonb_path_exists(t.payload, '$.**{33}') THEN 'the payload is nested more than 32 levels deep'
                -- The first messages of a shape waited for its check.
                WHEN t.type LIKE 'send.%' THEN (
                    SELECT left(v.reason, 2000) FROM fanfare.shapes AS s JOIN fanfare.rule_versions AS v ON v.rule_id = s.rule_id
                    WHERE s.name = t.payload ->> 'shape' AND v.state = 'refused')
            END AS refusal,
            -- Cancelled by id or by key. Usually there are no cancellations, and no event is looked up. Without OFFSET
            -- 0 PostgreSQL may hash the whole table; version 18 does so if the table was small at its last ANALYZE.
            EXISTS (SELECT FROM fanfare.cancels)
                AND EXISTS (SELECT FROM fanfare.cancels AS c WHERE c.event_id = t.id OFFSET 0) AS is_stopped,
            EXISTS (SELECT FROM fanfare.cancels) AND t.key IS NOT NULL AND EXISTS (
                SELECT FROM fanfare.cancels AS c
                WHERE c.type = t.type AND c.key = t.key AND NOT fanfare.is_emitted_after(t.id, c.event_number)
                OFFSET 0) AS is_withdrawn
        FROM taken AS t
    ),
    -- 3. Keys decide who is first. In key order, or two planners deadlock. A key that was cancelled in time is free again:
    --    who comes under it and is not withdrawn itself was emitted afterwards. A replay takes no key and needs none.
    firsts AS (
        INSERT INTO fanfare.event_keys AS k (type, key, event_id, created_at)
        SELECT DISTINCT ON (type, key) type, key, id, created_at FROM judged
        WHERE key IS NOT NULL AND replay_of IS NULL AND NOT is_withdrawn AND refusal IS NULL ORDER BY type, key, created_at, id
        ON CONFLICT (type, key) DO UPDATE SET event_id = excluded.event_id, created_at = excluded.created_at
        WHERE EXISTS (
            SELECT FROM fanfare.cancels AS c
            WHERE c.type = k.type AND c.key = k.key AND c.stopped
                AND NOT fanfare.is_emitted_after(k.event_id, c.event_number))
        RETURNING event_id
    ),
    -- 4. Rules; one row without a rule for an event that none took. The look-up is fenced by OFFSET 0 and conditions
    --    run last, each under CASE: in one join condition the jsonpath ran before the type was compared.
    matches AS MATERIALIZED (
        -- A sum beyond the calendar would fail the set: ten years are what sending goes by at most.
        SELECT j.*, r.*,
            j.created_at + least(greatest(coalesce(least(j.ttl, r.rule_ttl), interval '24 hours'), interval '0'), interval '10 years')
                -- By recipients' time it is counted from when each zone is due: the last is 27 hours after the event at most.
                + CASE WHEN j.wall IS NOT NULL OR r.gate_id > 0 AND EXISTS (
                    SELECT FROM fanfare.runs AS o WHERE o.event_id = j.id AND o.wall IS NOT NULL OFFSET 0)
                    THEN interval '27 hours' ELSE interval '0' END
                > statement_timestamp() AS is_live,
            \(gateSQL(of: "r", event: "j.id")) AS waits_behind,
            CASE WHEN r.audience IN ('users', 'tokens') THEN jsonb_path_query_array_tz(j.payload, r.audience_path, '{}', true) END
                AS recipients
        FROM (
            -- NOT IN, because it is hashed where NOT EXISTS becomes a nested loop.
            SELECT e.*, e.is_stopped OR e.is_withdrawn AS is_cancelled,
                e.key IS NOT NULL AND e.replay_of IS NULL AND NOT e.is_withdrawn AND e.id NOT IN (SELECT event_id FROM firsts) AS is_duplicate,
                -- Rules whose `when` requires an equation are looked up by it, all others by the empty key. [*] gives the
                -- elements of an array, to which == compares too, and any other value itself.
                ARRAY(
                    SELECT fanfare.equality_key(p.path, x.value) FROM fanfare.equality_paths AS p
                    CROSS JOIN LATERAL jsonb_path_query(e.payload, (p.path || '[*]')::jsonpath, '{}', true) AS x (value)
                    WHERE p.event_type = e.type AND e.refusal IS NULL
                    UNION ALL SELECT ''
                ) AS equalities
            FROM judged AS e
            OFFSET 0
        ) AS j
        LEFT JOIN LATERAL (
            SELECT * FROM (
                SELECT v.id AS rule_version, v.rule_id, v.app_id, v.audience, v.audience_path, v.devices_path, v.permissions, v.presents, v.kind, v.provider,
                    v.lane, v.ttl AS rule_ttl, v.when_path, v.supersede, v.gate_id
                FROM fanfare.rule_versions AS v
                WHERE v.event_type = j.type AND v.when_key = ANY (j.equalities) AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled
                    -- A clock that was set back since the rule was put would pass it by.
                    AND (v.rule_created_at <= j.created_at OR fanfare.is_emitted_after(j.id, v.rule_event_number))
                    AND (j.only_app IS NULL OR v.app_id = j.only_app)
                    -- Most apps may take any type: then the list is empty, and nothing is looked up.
                    AND (v.app_id <> ALL (ARRAY(SELECT a.id FROM fanfare.apps AS a WHERE a.events IS NOT NULL))
                        OR fanfare.may_take((SELECT a.name FROM fanfare.apps AS a WHERE a.id = v.app_id), v.event_type))
                OFFSET 0
            ) AS v
            WHERE CASE
                WHEN j.refusal IS NOT NULL OR j.is_duplicate OR j.is_cancelled THEN false
                WHEN v.when_path IS NULL THEN true
                ELSE jsonb_path_match_tz(j.payload, v.when_path, '{}', true)
            END
        ) AS r ON true
    ),
    -- 5. Users named in the payload, and their devices; a payload may name a user twice.
    deliveries AS MATERIALIZED (
        SELECT DISTINCT m.rule_version, m.lane, m.id AS event_id, d.target_id, d.id AS device_id, m.waits_behind AS gate_id
        FROM matches AS m
        CROSS JOIN LATERAL (
            SELECT item #>> '{}' AS user_id FROM jsonb_array_elements(m.recipients) AS item
            WHERE jsonb_typeof(item) IN ('string', 'number', 'boolean') AND NOT fanfare.is_nothing(item #>> '{}') AND (m.only_user IS NULL OR m.only_user = item #>> '{}')
            OFFSET 0
        ) AS u
        CROSS JOIN LATERAL (
            SELECT x.id, x.target_id, x.attributes, x.provider, x.kind, x.disabled_at, x.permission, x.presents FROM fanfare.devices AS x
            WHERE x.app_id = m.app_id AND x.user_id = u.user_id
            OFFSET 0
        ) AS d
        WHERE m.audience = 'users' AND m.is_live AND m.wall IS NULL
            AND d.disabled_at IS NULL AND d.kind = m.kind AND (m.provider IS NULL OR d.provider = m.provider)
            AND (m.devices_path IS NULL
                OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), m.devices_path, '{}', true))
            AND \(PermissionSQL.passes("m"))
    ),
    -- 6. Deliveries travel together: so many of one rule version and one target at most.
    \(isOfOutbox ? LoneBatchSQL.queued(batchSize: batchSize, isPaced: isPaced) : queueDeliveriesSQL(batchSize: batchSize, isPaced: isPaced)),
    -- 7. Every event ends in the log, with its fate.
    logged AS (
        INSERT INTO fanfare.event_log (day, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, wall, detail, fate)
        SELECT DISTINCT ON (m.id) fanfare.ring_day(m.id), m.id, m.created_at, m.type, m.key, m.ttl, m.payload, m.replay_of, m.only_app, m.only_user, m.trace, m.wall,
            coalesce(m.refusal, \(namesNobodySQL)) AS detail,
            CASE
                WHEN m.refusal IS NOT NULL THEN 6
                WHEN m.is_duplicate THEN 2
                WHEN m.is_cancelled THEN 4
                WHEN m.rule_version IS NOT NULL AND m.is_live THEN 1
                WHEN NOT m.is_live THEN 5
                ELSE 3
            END
        FROM matches AS m
        ORDER BY m.id, m.is_live DESC, detail
        RETURNING fate, id, type, detail
    ),
    -- 8. The values by which rules find events.
    \(EventValuesSQL.ctes)
    SELECT 0::smallint, (SELECT count(*) FROM taken), (SELECT count(*)::int FROM queued), pg_current_snapshot()::text
    UNION ALL
    \(OutboxQuery.lastRowSQL)
    UNION ALL
    SELECT 2::smallint, count(*), fate::int, NULL FROM logged GROUP BY fate
    UNION ALL
    (SELECT 7::smallint, id, fate::int, concat(type, E'\\n', detail) FROM logged WHERE fate IN (2, 3, 6) LIMIT \(EndedEvent.limit))
    UNION ALL
    SELECT 3::smallint, id, rule_version, (jsonb_build_object('type', type, 'key', key, 'payload', payload)
        || CASE WHEN num_nonnulls(replay_of, trace, wall) = 0 THEN '{}' ELSE
            jsonb_strip_nulls(jsonb_build_object(
                'replay_of', replay_of, 'only_user', only_user, 'trace_id', \(traceIDSQL(of: "trace")), 'wall', wall)) END)::text
    FROM matches WHERE is_live AND (audience <> 'users' OR supersede OR wall IS NOT NULL)
    \(isOfOutbox ? "UNION ALL \(LoneBatchSQL.rows) UNION ALL \(OutboxQuery.unjudgedRowSQL)" : "")
    """
}

/// SQL of ``PlanRound`` for a round that takes a single event, whose batches are claimed with planning.
private enum LoneBatchSQL {
    /// Returns the CTE `queued`, whose batches are claimed at once by `$8` with the lease token `$9`, and before it the
    /// CTE `lone`, with the places of `$7` if the round is such a one, else null.
    ///
    /// More deliveries than one person's devices are left to the claimer, which reads them in parts and outside a
    /// transaction; so are batches behind a gate, open or not.
    ///
    /// - Parameters:
    ///   - batchSize: the SQL for the most deliveries of one batch.
    ///   - isPaced: whether rates of apps and providers apply.
    /// - Returns: both texts, without a trailing comma.
    static func queued(batchSize: String, isPaced: Bool) -> String {
        let isClaimed = "gate_id = 0 AND target_id * 4 + lane = ANY ((SELECT places FROM lone)::int[])"
        let queued = queueDeliveriesSQL(
            batchSize: batchSize,
            isPaced: isPaced,
            owner: "CASE WHEN \(isClaimed) THEN $8::int END",
            leaseToken: "CASE WHEN \(isClaimed) THEN $9::bigint END",
            returning: """
                id, rule_version, target_id, lane, owner, lease_token,
                CASE WHEN owner IS NOT NULL THEN device_ids END AS device_ids
                """
        )
        return """
            lone AS MATERIALIZED (
                SELECT CASE
                    WHEN (SELECT count(*) FROM taken) = 1 AND (SELECT count(*) FROM deliveries) <= 20 THEN $7::int[]
                END AS places
            ),
            \(queued)
            """
    }

    /// The batches as rows of a round's result, with their event and devices.
    ///
    /// Both have been read here already. Separate statements would cost another round trip, and would run on cold
    /// caches as planning does.
    static let rows = """
        SELECT 4::smallint, q.id, q.rule_version, json_build_object(
            'target', q.target_id, 'lane', q.lane, 'lease_token', q.lease_token,
            'deliveries', cardinality(q.device_ids),
            'event', t.id, 'type', t.type, 'key', t.key, 'replay_of', t.replay_of, 'trace', encode(t.trace, 'hex'), 'payload', t.payload::text,
            'created_at', extract(epoch FROM t.created_at) * 1000000,
            'planned_at', extract(epoch FROM statement_timestamp()) * 1000000,
            'ttl', extract(epoch FROM t.ttl)::float8::text,
            'retracted', EXISTS (SELECT FROM fanfare.retractions)
                AND EXISTS (SELECT FROM fanfare.retractions AS x WHERE x.event_id = t.id OFFSET 0),
            'devices', (
                SELECT json_agg(json_build_object(
                    'id', d.id, 'token', d.token, 'target', d.target_id, 'kind', d.kind,
                    'registered_at', extract(epoch FROM d.registered_at) * 1000000,
                    'locale', d.locale, 'p256dh', d.p256dh, 'auth', d.auth, 'user', d.user_id,
                    'doubted_by', d.doubted_by, 'fid', d.address IS NOT NULL) ORDER BY u.position)
                FROM unnest(q.device_ids) WITH ORDINALITY AS u (id, position)
                CROSS JOIN LATERAL (SELECT * FROM fanfare.devices AS x WHERE x.id = u.id OFFSET 0) AS d))::text
        FROM queued AS q CROSS JOIN taken AS t WHERE (SELECT places FROM lone) IS NOT NULL AND q.owner IS NOT NULL
        """
}

/// Returns SQL for the hexadecimal id of a trace; null for null.
///
/// - Parameter column: the SQL for a result of `fanfare.trace_context`.
/// - Returns: the expression.
package func traceIDSQL(of column: String) -> String { "encode(substr(\(column), 1, 16), 'hex')" }

/// The SQL for why a rule that takes its recipients from the payload found none in that of `m`; null if it found one.
///
/// The first recipient is checked before all are, since it is usually valid.
private let namesNobodySQL = """
    CASE
        WHEN m.recipients IS NULL OR NOT m.is_live
            OR jsonb_typeof(m.recipients -> 0) IN ('string', 'number') AND NOT fanfare.is_nothing(m.recipients ->> 0)
            OR EXISTS (
                SELECT FROM jsonb_array_elements(m.recipients) AS item
                WHERE jsonb_typeof(item) IN ('string', 'number', 'boolean') AND NOT fanfare.is_nothing(item #>> '{}'))
            THEN NULL
        ELSE concat('rule ', (SELECT name FROM fanfare.rules WHERE id = m.rule_id), ': to.', m.audience, ' finds ',
            CASE jsonb_typeof(m.recipients -> 0)
                WHEN 'object' THEN 'an object, where a string names one'
                WHEN 'array' THEN 'an array, where a string names one'
                WHEN 'null' THEN 'null, where a string names one'
                WHEN 'string' THEN quote_literal(m.recipients ->> 0) || ', which names nobody'
                ELSE 'no recipient in this payload'
            END)
    END
    """
