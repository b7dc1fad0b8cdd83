internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Moves counters that are older than the fuses' period into the permanent tables, for rules and for gates, and adds
    /// them to the traffic of their minutes.
    ///
    /// Daemons of the previous version read the fuses' input from these counters.
    package static let foldStats = Statement<Void>(
        "fold_stats",
        """
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
    )
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

extension SQL {
    /// Deletes some expired idempotency keys.
    ///
    /// The oldest first, along the index: `clock_timestamp()` would keep the planner from using one.
    ///
    /// Binds: retentionSeconds.
    package static let forgetKeys = Statement<Void, Int64>(
        "forget_keys",
        """
        DELETE FROM fanfare.event_keys WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.event_keys
            WHERE created_at < statement_timestamp() - $1 * interval '1 second'
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )

    /// Deletes some cancellations that can no longer matter; one that freed a key is kept for as long as keys are.
    ///
    /// Binds: keyRetentionSeconds.
    package static let forgetCancels = Statement<Void, Int64>(
        "forget_cancels",
        """
        DELETE FROM fanfare.cancels WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.cancels
            WHERE created_at < statement_timestamp() - greatest(interval '\(Forgetting.factDays) days', $1 * interval '1 second')
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )

    /// Deletes some collapse keys that can no longer matter.
    package static let forgetCollapseKeys = Statement<Void>(
        "forget_collapse_keys",
        """
        DELETE FROM fanfare.collapse_latest WHERE key = ANY (ARRAY(
            SELECT key FROM fanfare.collapse_latest WHERE created_at < statement_timestamp() - interval '\(Forgetting.factDays) days'
            ORDER BY created_at LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
    )

    /// Reads the days of the log partitions that have rows older than the retention.
    ///
    /// Binds: retentionDays.
    package static let oldLogDays = Statement<Int16, Int32>(
        "old_log_days",
        """
        SELECT d.day::smallint FROM generate_series(0, \(EventID.ringDays - 1)) AS d (day)
        WHERE least(
            (SELECT min(id) FROM fanfare.event_log WHERE day = d.day::smallint),
            (SELECT min(id) FROM fanfare.batch_log WHERE day = d.day::smallint)) < (\(firstKeptSQL("$1")))
        """
    )

    /// Whether a log partition has rows, all of them older than the retention, to which no queue refers.
    ///
    /// The queues have no index for this and are scanned only if a partition's days are over, which is rare.
    ///
    /// Binds: day, retentionDays.
    package static let isRingDayOver = Statement<Bool, Int16, Int32>(
        "is_ring_day_over",
        """
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
    )

    /// Deletes some events that are older than the retention and share their partition with newer ones.
    ///
    /// That happens if a clock jumped over the ring, or if no daemon ran when their partition was due. Events to which a
    /// queue still refers are kept: a snapshot that sees the event sees the reference too, so no lock is needed.
    ///
    /// Binds: day, retentionDays.
    package static let forgetEvents = Statement<Void, Int16, Int32>(
        "forget_events",
        """
        WITH kept AS (\(firstKeptSQL("$2"))),
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
    )

    /// Deletes batches as ``SQL/forgetEvents`` does events; nothing refers to closed ones.
    ///
    /// Binds: day, retentionDays.
    package static let forgetBatches = Statement<Void, Int16, Int32>(
        "forget_batches",
        """
        WITH kept AS (\(firstKeptSQL("$2")))
        DELETE FROM fanfare.batch_log
        WHERE day = $1
            AND (SELECT min(id) FROM fanfare.batch_log WHERE day = $1) < (SELECT id FROM kept)
            AND (\(newestSQL)) >= (SELECT id FROM kept)
            AND id = ANY (ARRAY(
                SELECT b.id FROM fanfare.batch_log AS b WHERE b.day = $1 AND b.id < (SELECT id FROM kept)
                ORDER BY b.id LIMIT \(Forgetting.limit)))
        """
    )
}

/// The newest id in a partition of both logs; the partition is emptied at once when that id is past retention.
private let newestSQL = """
    SELECT greatest((SELECT max(id) FROM fanfare.event_log WHERE day = $1), (SELECT max(id) FROM fanfare.batch_log WHERE day = $1))
    """

/// Returns a query for the first id of the oldest day that is kept, some days before today.
func firstKeptSQL(_ days: String) -> String {
    "SELECT ((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - \(days)::int)::bigint << 32 AS id"
}
