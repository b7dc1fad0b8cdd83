internal import FanfareCore
package import PostgresClient

/// Ends what waits of events that were cancelled, whenever it is due.
///
/// A claim would find out as well, but only when it is due: what a night or a snooze holds would count as waiting until then.
///
/// - Batches of one event are ended as ``SweepGate`` does.
/// - Batches of several events are made due if all they wait for is a night or a snooze: a claim ends what is cancelled and holds the
///   rest again. What waits for a retry is left until then, since it may wait by `Retry-After`.
package struct EndCancelled: PostgresStatement {
    package static let name = "end_cancelled"
    /// Batches of each kind in one statement; one that found as many may have left some.
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
        \(endPickedSQL(as: .cancelled))
        SELECT (SELECT count(*) FROM ended), (SELECT count(*) FROM woken), at::text FROM look
        """

    /// What an earlier look saw; nil to look at all that was ever cancelled.
    package let since: String?

    package init(since: String?) {
        self.since = since
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(since)
    }

    /// What was done.
    package struct Row {
        /// Batches that were ended.
        package let ended: Int64
        /// Batches that were made due.
        package let woken: Int64
        /// What the look saw, for the next one's ``EndCancelled/since``.
        package let seen: String

        /// Whether there may be more.
        package var isFull: Bool { max(ended, woken) >= limit }
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(ended: try row.int64(0), woken: try row.int64(1), seen: try row.string(2))
    }
}
