internal import FanfareCore
package import PostgresClient

/// Ends unclaimed batches whose every delivery has expired: moves them to the log and counts them.
///
/// Usually a claimer does this, since expired batches are claimed like any others. But batches that no daemon has
/// credentials for are never claimed, and each of them would keep its day's log partitions from being emptied.
///
/// - By the day in its id, a batch that is at least 24 hours old has expired for every event without a `ttl` or with a
///   `ttl` of at most a day, since no event is younger than its batch. Only longer `ttl`s are compared. Ages are
///   compared, not points in time, since `created_at` and a `ttl` may add up to a time beyond the calendar.
/// - A batch behind a gate may be due later than its event was emitted, and its `ttl` begins then.
/// - An event that is no longer in the log counts as expired, as it does for a claimer.
/// - A locked batch is being claimed, and its claimer makes the same decision. Recorded outcomes stay, except that
///   deliveries that may have been sent become unknown, and those that were to be retried expire.
package struct EndBatches: PostgresStatement {
    package static let name = "end_batches"
    /// The most batches per statement; if as many were ended, there may be more.
    package static let limit = 100
    package static let sql = """
        WITH
        -- 1. In the order of their ids, which is that of their days.
        picked AS MATERIALIZED (
            SELECT b.id FROM fanfare.batches AS b
            WHERE b.owner IS NULL
                AND b.id < ((statement_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - 1)::bigint << 32
                AND NOT EXISTS (
                    SELECT FROM unnest(coalesce(b.event_ids, ARRAY[b.event_id])) AS x (id)
                    CROSS JOIN LATERAL (
                        SELECT e.created_at, e.ttl FROM fanfare.event_log AS e
                        WHERE e.day = fanfare.ring_day(x.id) AND e.id = x.id OFFSET 0
                    ) AS e
                    WHERE extract(epoch FROM statement_timestamp() - coalesce(b.due_at, e.created_at)) < extract(epoch FROM coalesce(
                        least(e.ttl, (SELECT v.ttl FROM fanfare.rule_versions AS v WHERE v.id = b.rule_version)),
                        interval '24 hours')))
            ORDER BY b.id LIMIT \(limit)
            FOR UPDATE OF b SKIP LOCKED
        ),
        \(endPickedSQL(as: "\(Outcome.expired.rawValue)"))
        SELECT count(*) FROM ended
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Ends unclaimed batches behind an aborted gate; otherwise as ``EndBatches``.
///
/// Daemons release their unsent batches, so that these are ended here too.
package struct SweepGate: PostgresStatement {
    package static let name = "sweep_gate"
    /// The most batches per statement; if as many were ended, there may be more.
    package static let limit = 100
    package static let sql = """
        WITH
        -- 1. Along the index: what is ended lies before what is left, and nothing is sorted.
        picked AS MATERIALIZED (
            SELECT b.id FROM fanfare.batches AS b
            WHERE b.lease_token IS NULL AND b.gate_id = $1
                AND EXISTS (SELECT FROM fanfare.gates AS g WHERE g.id = $1 AND g.state = 'aborting')
            ORDER BY b.target_id, b.lane, b.is_retry, b.not_before, b.id LIMIT \(limit)
            FOR UPDATE OF b SKIP LOCKED
        ),
        \(endPickedSQL(as: "\(Outcome.aborted.rawValue)"))
        SELECT count(*) FROM ended
        """

    package let gate: Int32

    package init(gate: Int32) {
        self.gate = gate
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(gate)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Returns the CTEs that end the locked batches of the CTE `picked`: `ended` and its dependents.
///
/// - Parameter outcome: the SQL for the outcome of deliveries of batch `b` that were not sent or were to be retried. Other
///   recorded outcomes stay, except that deliveries that may have been sent become unknown.
/// - Returns: the CTEs' text, without a trailing comma.
func endPickedSQL(as outcome: String) -> String {
    """
    ended AS (
        -- What is locked here has no owner, and gets none before the commit.
        DELETE FROM fanfare.batches AS b WHERE b.id = ANY (ARRAY(SELECT id FROM picked))
        RETURNING b.id, b.parent_id, b.event_id, b.created_at, b.rule_version, b.target_id, b.lane, b.attempt,
            b.device_ids, b.event_ids, b.outcomes, b.gate_id, \(outcome) AS ended_as
    ),
    -- 2. One byte per delivery; most batches were not begun, and have the same for all.
    decided AS MATERIALIZED (
        SELECT e.id, e.parent_id, e.event_id, e.created_at, e.rule_version, e.target_id, e.lane, e.attempt,
            e.device_ids, e.event_ids, e.gate_id, e.ended_as, octet_length(e.outcomes) = 0 AS is_whole,
            CASE
                WHEN octet_length(e.outcomes) = 0
                    THEN decode(repeat(lpad(to_hex(e.ended_as), 2, '0'), cardinality(e.device_ids)), 'hex')
                ELSE (
                    SELECT string_agg(set_byte('\\x00'::bytea, 0, CASE
                        WHEN p.code = \(Outcome.attempted.rawValue) THEN \(Outcome.unknown.rawValue)
                        WHEN p.code = \(Outcome.pending.rawValue) OR p.code BETWEEN 32 AND 63 THEN e.ended_as
                        ELSE p.code
                    END), ''::bytea ORDER BY p.position)
                    FROM (
                        SELECT n AS position, get_byte(e.outcomes, n) AS code
                        FROM generate_series(0, cardinality(e.device_ids) - 1) AS n
                    ) AS p
                )
            END AS outcomes
        FROM ended AS e
    ),
    logged AS (
        INSERT INTO fanfare.batch_log (day, id, parent_id, event_id, created_at, rule_version, target_id, lane, attempt,
            first_device, last_device, device_ids, event_ids, outcomes, first_event, last_event)
        SELECT fanfare.ring_day(id), id, parent_id, event_id, created_at, rule_version, target_id, lane, attempt,
            device_ids[1], device_ids[cardinality(device_ids)], device_ids, event_ids, outcomes,
            (SELECT min(x) FROM unnest(event_ids) AS x), (SELECT max(x) FROM unnest(event_ids) AS x)
        FROM decided
    ),
    counted AS (
        INSERT INTO fanfare.stats_pending (rule_version, target_id, outcome, deliveries, gate_id)
        SELECT t.rule_version, t.target_id, t.outcome, sum(t.deliveries), t.gate_id
        FROM (
            SELECT d.rule_version, d.target_id, d.gate_id, d.ended_as AS outcome, cardinality(d.device_ids) AS deliveries
            FROM decided AS d WHERE d.is_whole
            UNION ALL
            SELECT d.rule_version, d.target_id, d.gate_id, get_byte(d.outcomes, n), 1
            FROM decided AS d CROSS JOIN LATERAL generate_series(0, octet_length(d.outcomes) - 1) AS n
            WHERE NOT d.is_whole
        ) AS t
        GROUP BY t.rule_version, t.target_id, t.gate_id, t.outcome
    ),
    \(FeedbackNote.sql(of: "decided", from: """
        (
                    SELECT d.id AS batch_id, get_byte(d.outcomes, n) AS outcome
                    FROM decided AS d CROSS JOIN LATERAL generate_series(
                        0, CASE WHEN d.is_whole THEN 0 ELSE octet_length(d.outcomes) - 1 END) AS n
                ) AS t
        """))
    """
}
