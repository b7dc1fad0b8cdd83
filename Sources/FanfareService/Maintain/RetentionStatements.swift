internal import PostgresClient

/// Moves counters older than the fuse's window into the table that is kept for ever.
struct FoldStats: PostgresStatement {
    static let name = "fold_stats"
    static let sql = """
        WITH old AS (
            DELETE FROM fanfare.stats_pending WHERE at < clock_timestamp() - interval '11 minutes'
            RETURNING (at AT TIME ZONE 'UTC')::date AS day, rule_version, target_id, outcome, pairs
        )
        INSERT INTO fanfare.stats (day, rule_version, target_id, outcome, pairs)
        SELECT day, rule_version, target_id, outcome, sum(pairs) FROM old GROUP BY day, rule_version, target_id, outcome
        ON CONFLICT (day, rule_version, target_id, outcome) DO UPDATE SET pairs = fanfare.stats.pairs + excluded.pairs
        """
}

/// Forgets idempotency keys whose time is over, some at a time.
struct ForgetKeys: PostgresStatement {
    static let name = "forget_keys"
    static let sql = """
        DELETE FROM fanfare.event_keys WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.event_keys
            WHERE created_at < clock_timestamp() - $1 * interval '1 second' LIMIT 10000 FOR UPDATE SKIP LOCKED))
        """

    let retentionSeconds: Int64

    func bind(to binds: inout PostgresBinds) {
        binds.append(retentionSeconds)
    }
}

/// Forgets cancellations and collapse keys that can no longer matter.
struct ForgetFacts: PostgresStatement {
    static let name = "forget_facts"
    static let sql = """
        WITH cancels AS (
            DELETE FROM fanfare.cancels WHERE created_at < clock_timestamp() - interval '31 days'
        )
        DELETE FROM fanfare.collapse_latest WHERE key = ANY (ARRAY(
            SELECT key FROM fanfare.collapse_latest
            WHERE created_at < clock_timestamp() - interval '31 days' LIMIT 10000 FOR UPDATE SKIP LOCKED))
        """
}

/// Whether a log partition holds anything older than the day that needs it next.
struct RingDayState: PostgresStatement {
    static let name = "ring_day_state"
    static let sql = """
        SELECT (now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01',
            EXISTS (SELECT FROM fanfare.outbox WHERE fanfare.ring_day(id) = $1)
            OR EXISTS (SELECT FROM fanfare.outbox_slow WHERE fanfare.ring_day(id) = $1)
            OR EXISTS (SELECT FROM fanfare.plans WHERE fanfare.ring_day(event_id) = $1)
            OR EXISTS (SELECT FROM fanfare.batches WHERE fanfare.ring_day(event_id) = $1
                OR EXISTS (SELECT FROM unnest(event_ids) AS e (id) WHERE fanfare.ring_day(e.id) = $1)),
            (SELECT (max(id) >> 32)::int FROM fanfare.event_log WHERE day = $1),
            (SELECT (max(id) >> 32)::int FROM fanfare.batch_log WHERE day = $1)
        """

    let day: Int16

    func bind(to binds: inout PostgresBinds) {
        binds.append(day)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RingPartition {
        RingPartition(
            today: Int(try row.int32(0)),
            isReferredTo: try row.bool(1),
            newestDay: max(try row.int32(orNil: 2) ?? -1, try row.int32(orNil: 3) ?? -1)
        )
    }
}

/// What is in one partition of the ring.
struct RingPartition: Equatable {
    /// Days since 2020.
    let today: Int
    /// Whether a queue row still refers to an event of this partition.
    let isReferredTo: Bool
    /// The newest day in it; -1 if it is empty.
    let newestDay: Int32
}
