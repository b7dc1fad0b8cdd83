internal import FanfareCore
package import PostgresClient

/// Ends waiting deliveries of cancelled events, due or not.
///
/// A claim would do so too, but only once they are due: deliveries held for quiet hours or a snooze would count as
/// waiting until then.
///
/// - Batches of one event are ended as in ``SweepGate``.
/// - Batches of several events are made due if they wait only for quiet hours or a snooze: a claim ends the cancelled
///   deliveries and holds the others again. Batches that wait for a retry are left until then, since the wait may come
///   from `Retry-After`.
package struct EndCancelled: PostgresStatement {
    package static let name = "end_cancelled"
    /// The most batches of each kind per statement; if as many were found, there may be more.
    package static let limit = 100
    package static let sql = """
        WITH
        look AS MATERIALIZED (SELECT pg_current_snapshot() AS at),
        -- 1. The events, also by their keys.
        news AS MATERIALIZED (
            SELECT c.event_id, c.type, c.key, c.event_number, c.created_at FROM fanfare.cancels AS c
            WHERE $1::text IS NULL
                OR c.xid >= pg_snapshot_xmin($1::text::pg_snapshot) AND NOT pg_visible_in_snapshot(c.xid, $1::text::pg_snapshot)
        ),
        cancelled AS MATERIALIZED (
            SELECT n.event_id AS id FROM news AS n WHERE n.event_id IS NOT NULL
            UNION
            SELECT k.event_id FROM news AS n JOIN fanfare.event_keys AS k ON k.type = n.type AND k.key = n.key
            WHERE NOT fanfare.is_emitted_after(k.event_id, n.event_number)
        ),
        -- 2. Batches of one of them.
        picked AS MATERIALIZED (
            SELECT b.id FROM fanfare.batches AS b
            WHERE b.event_id = ANY (ARRAY(SELECT id FROM cancelled)) AND b.owner IS NULL
            LIMIT \(limit) FOR UPDATE OF b SKIP LOCKED
        ),
        -- 3. Batches of several events. An IN below an aggregate is hashed, however many events are cancelled.
        several AS MATERIALIZED (
            SELECT b.id FROM fanfare.batches AS b CROSS JOIN LATERAL unnest(b.event_ids) AS e (id)
            WHERE b.event_id IS NULL AND b.lease_token IS NULL AND b.not_before > statement_timestamp() + interval '1 second'
                AND b.history = \(RetryHistory.none.held.encoded) AND EXISTS (SELECT FROM cancelled)
            GROUP BY b.id HAVING bool_or(e.id IN (SELECT id FROM cancelled))
            LIMIT \(limit)
        ),
        woken AS (
            UPDATE fanfare.batches AS b SET not_before = statement_timestamp()
            WHERE b.id = ANY (ARRAY(
                SELECT x.id FROM fanfare.batches AS x WHERE x.id = ANY (ARRAY(SELECT id FROM several)) AND x.lease_token IS NULL
                FOR UPDATE SKIP LOCKED))
            RETURNING b.id
        ),
        \(endPickedSQL(as: """
            CASE WHEN EXISTS (SELECT FROM fanfare.cancels AS c WHERE c.event_id = b.event_id AND c.taken_back OFFSET 0)
                        THEN \(Outcome.retracted.rawValue) ELSE \(Outcome.cancelled.rawValue) END
            """))
        SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM woken), at::text FROM look
        """

    /// The snapshot of an earlier pass; nil to read all cancellations.
    package let since: String?

    package init(since: String?) {
        self.since = since
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(since)
    }

    /// The result of a pass.
    package struct Row {
        /// The number of batches that were ended.
        package let ended: Int64
        /// The number of batches that were made due.
        package let woken: Int64
        /// The snapshot of this pass, for the next one's ``EndCancelled/since``.
        package let seen: String

        /// Whether there may be more.
        package var isFull: Bool { max(ended, woken) >= limit }
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(ended: try row.int64(0), woken: try row.int64(1), seen: try row.string(2))
    }
}
