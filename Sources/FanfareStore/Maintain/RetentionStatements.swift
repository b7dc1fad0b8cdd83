package import PostgresClient

/// Moves counters that are older than the fuses' period into the permanent tables, for rules and for gates, and adds
/// them to the traffic of their minutes.
///
/// Daemons of the previous version read the fuses' input from these counters.
package struct FoldStats: PostgresStatement {
    package static let name = "fold_stats"
    package static let sql = """
        WITH old AS (
            DELETE FROM fanfare.stats_pending WHERE at < statement_timestamp() - interval '11 minutes'
            RETURNING (at AT TIME ZONE 'UTC')::date AS day, date_bin('1 minute', at, 'epoch') AS minute, rule_version, target_id, outcome, deliveries, gate_id
        ),
        by_gate AS (
            INSERT INTO fanfare.gate_stats AS s (gate_id, outcome, deliveries)
            SELECT gate_id, outcome, sum(deliveries) FROM old WHERE gate_id <> 0 GROUP BY gate_id, outcome
            ON CONFLICT (gate_id, outcome) DO UPDATE SET deliveries = s.deliveries + excluded.deliveries
        ),
        by_minute AS (
            INSERT INTO fanfare.traffic AS t (what, since, target_id, lane, code, count)
            SELECT 'outcome', o.minute, o.target_id, coalesce(v.lane, 1), o.outcome, sum(o.deliveries)
            FROM old AS o LEFT JOIN fanfare.rule_versions AS v ON v.id = o.rule_version
            GROUP BY 2, 3, 4, 5
            ON CONFLICT (what, since, target_id, lane, code) DO UPDATE SET count = t.count + excluded.count
        )
        INSERT INTO fanfare.stats (day, rule_version, target_id, outcome, deliveries)
        SELECT day, rule_version, target_id, outcome, sum(deliveries) FROM old GROUP BY day, rule_version, target_id, outcome
        ON CONFLICT (day, rule_version, target_id, outcome) DO UPDATE SET deliveries = fanfare.stats.deliveries + excluded.deliveries
        """

    package init() {}
}

/// The limits of statements that delete old rows.
package enum Forgetting {
    /// The most rows per statement; if as many were found, there may be more.
    package static let limit = 10_000
    /// How long the counts of gates are kept: a year, and a month to compare with.
    package static let gateDays = 400
    /// After how many days a cancellation or a collapse key can no longer affect events emitted before it.
    package static let factDays = 31
}

/// Deletes some expired idempotency keys.
///
/// The oldest first, along the index: `clock_timestamp()` would keep the planner from using one.
package struct ForgetKeys: PostgresStatement {
    package static let name = "forget_keys"
    package static let sql = """
        DELETE FROM fanfare.event_keys WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.event_keys
            WHERE created_at < statement_timestamp() - $1 * interval '1 second'
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """

    package let retentionSeconds: Int64

    package init(retentionSeconds: Int64) {
        self.retentionSeconds = retentionSeconds
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(retentionSeconds)
    }
}

/// Deletes some cancellations that can no longer matter; one that freed a key is kept for as long as keys are.
package struct ForgetCancels: PostgresStatement {
    package static let name = "forget_cancels"
    package static let sql = """
        DELETE FROM fanfare.cancels WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.cancels
            WHERE created_at < statement_timestamp() - greatest(interval '\(Forgetting.factDays) days', $1 * interval '1 second')
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """

    package let keyRetentionSeconds: Int64

    package init(keyRetentionSeconds: Int64) {
        self.keyRetentionSeconds = keyRetentionSeconds
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(keyRetentionSeconds)
    }
}

/// Deletes some collapse keys that can no longer matter.
package struct ForgetCollapseKeys: PostgresStatement {
    package static let name = "forget_collapse_keys"
    package static let sql = """
        DELETE FROM fanfare.collapse_latest WHERE key = ANY (ARRAY(
            SELECT key FROM fanfare.collapse_latest WHERE created_at < statement_timestamp() - interval '\(Forgetting.factDays) days'
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """

    package init() {}
}

/// Whether a log partition has rows, all of them older than the retention, to which no queue refers.
///
/// The queues have no index for this and are scanned only if a partition's days are over, which is rare.
package struct IsRingDayOver: PostgresStatement {
    package static let name = "is_ring_day_over"
    package static let sql = """
        SELECT CASE
            WHEN newest.day < (now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - $2::int THEN NOT (
                EXISTS (SELECT FROM fanfare.outbox WHERE fanfare.ring_day(id) = $1)
                OR EXISTS (SELECT FROM fanfare.quarantine WHERE fanfare.ring_day(id) = $1)
                OR EXISTS (SELECT FROM fanfare.plans WHERE fanfare.ring_day(event_id) = $1)
                OR EXISTS (SELECT FROM fanfare.audience_queries WHERE fanfare.ring_day(event_id) = $1)
                OR EXISTS (SELECT FROM fanfare.open_digests AS g, unnest(g.event_ids) AS e (id) WHERE fanfare.ring_day(e.id) = $1)
                OR EXISTS (SELECT FROM fanfare.batches WHERE fanfare.ring_day(event_id) = $1
                    OR EXISTS (SELECT FROM unnest(event_ids) AS e (id) WHERE fanfare.ring_day(e.id) = $1)))
            ELSE false
        END
        FROM (SELECT (\(newestSQL)) >> 32 AS day) AS newest
        """

    package let day: Int16
    package let retentionDays: Int

    package init(day: Int16, retentionDays: Int) {
        self.day = day
        self.retentionDays = retentionDays
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(day)
        binds.append(Int32(clamping: retentionDays))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool {
        try row.bool(0)
    }
}

/// Deletes some events that are older than the retention and share their partition with newer ones.
///
/// That happens if a clock jumped over the ring, or if no daemon ran when their partition was due. Events to which a
/// queue still refers are kept: a snapshot that sees the event sees the reference too, so no lock is needed.
package struct ForgetEvents: PostgresStatement {
    package static let name = "forget_events"
    package static let sql = """
        WITH kept AS (\(firstKeptSQL)),
        needed AS MATERIALIZED (
            SELECT id FROM fanfare.outbox
            UNION ALL
            SELECT id FROM fanfare.quarantine
            UNION ALL
            SELECT p.event_id FROM fanfare.plans AS p
            UNION ALL
            SELECT q.event_id FROM fanfare.audience_queries AS q
            UNION ALL
            SELECT e.id FROM fanfare.open_digests AS g CROSS JOIN LATERAL unnest(g.event_ids) AS e (id)
            UNION ALL
            SELECT b.event_id FROM fanfare.batches AS b WHERE b.event_id IS NOT NULL
            UNION ALL
            SELECT e.id FROM fanfare.batches AS b CROSS JOIN LATERAL unnest(b.event_ids) AS e (id)
        )
        DELETE FROM fanfare.event_log
        WHERE day = $1
            -- Mostly none is older, and nothing else is looked at.
            AND (SELECT min(id) FROM fanfare.event_log WHERE day = $1) < (SELECT id FROM kept)
            AND (\(newestSQL)) >= (SELECT id FROM kept)
            AND id = ANY (ARRAY(
                SELECT e.id FROM fanfare.event_log AS e
                WHERE e.day = $1 AND e.id < (SELECT id FROM kept) AND NOT EXISTS (SELECT FROM needed AS n WHERE n.id = e.id)
                ORDER BY e.id LIMIT \(Forgetting.limit)))
        """

    package let day: Int16
    package let retentionDays: Int

    package init(day: Int16, retentionDays: Int) {
        self.day = day
        self.retentionDays = retentionDays
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(day)
        binds.append(Int32(clamping: retentionDays))
    }
}

/// Deletes batches as ``ForgetEvents`` does events; nothing refers to closed ones.
package struct ForgetBatches: PostgresStatement {
    package static let name = "forget_batches"
    package static let sql = """
        WITH kept AS (\(firstKeptSQL))
        DELETE FROM fanfare.batch_log
        WHERE day = $1
            AND (SELECT min(id) FROM fanfare.batch_log WHERE day = $1) < (SELECT id FROM kept)
            AND (\(newestSQL)) >= (SELECT id FROM kept)
            AND id = ANY (ARRAY(
                SELECT b.id FROM fanfare.batch_log AS b WHERE b.day = $1 AND b.id < (SELECT id FROM kept)
                ORDER BY b.id LIMIT \(Forgetting.limit)))
        """

    package let day: Int16
    package let retentionDays: Int

    package init(day: Int16, retentionDays: Int) {
        self.day = day
        self.retentionDays = retentionDays
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(day)
        binds.append(Int32(clamping: retentionDays))
    }
}

/// The newest id in a partition of both logs; the partition is emptied at once when that id is past retention.
private let newestSQL = """
    SELECT greatest((SELECT max(id) FROM fanfare.event_log WHERE day = $1), (SELECT max(id) FROM fanfare.batch_log WHERE day = $1))
    """

/// The first id of the oldest day that is kept, `$2` days before today.
private let firstKeptSQL = """
    SELECT ((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - $2::int)::bigint << 32 AS id
    """
