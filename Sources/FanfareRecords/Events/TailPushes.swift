internal import FanfareStore
package import PostgresClient

/// One delivery of a batch; without a delivery, a batch with no match.
package struct TailPush: Sendable {
    /// The most batches per query; each has up to a thousand rows.
    package static let limit = 50

    package let batchID: Int64
    package let at: Timestamp
    package let attempt: Int16
    package let eventType: String
    package let rule: String
    package let app: String
    package let provider: String
    package let environment: String
    package let delivery: Delivery?

    /// A delivery with its outcome.
    package struct Delivery: Sendable {
        package let eventID: Int64
        package let deviceID: Int64
        package let userID: String?
        package let outcome: String
        package let reason: String
        /// Why the delivery was refused.
        package let detail: String?
        /// When the event was emitted; nil if its log row is gone.
        package let emittedAt: Timestamp?
        package let traceID: String?
    }
}

extension SQL {
    /// Reads the deliveries of the batches that were closed in a window, by the index on the time of closing.
    ///
    /// A batch without matching deliveries still has a row, which shows that it was read.
    ///
    /// Binds: window, and its user, app and rule.
    package static let tailPushes = Statement<TailPush, TailWindow, String?, String?, String?>(
        "tail_pushes",
        """
        SELECT b.id, b.closed_at, b.attempt, v.event_type, r.name, a.name, t.provider, t.environment,
            p.event_id, p.device_id, p.user_id, p.outcome, p.reason,
            CASE WHEN p.outcome = 'refused' THEN b.details ->> p.event_id::text END,
            e.created_at, \(traceIDSQL(of: "e.trace"))
        FROM (
            SELECT * FROM fanfare.batch_log
            WHERE closed_at >= $1 AND closed_at <= $2 AND id <> ALL ($3)
                AND ($4::bigint IS NULL OR event_id = $4 OR int8range(first_event, last_event, '[]') @> $4 AND $4 = ANY (event_ids))
                AND ($5::text IS NULL OR rule_version IN (SELECT id FROM fanfare.rule_versions WHERE event_type = $5))
                AND ($7::text IS NULL OR device_ids && ARRAY(SELECT id FROM fanfare.devices WHERE user_id = $7))
                AND ($8::text IS NULL OR target_id IN (
                    SELECT x.id FROM fanfare.targets AS x JOIN fanfare.apps AS y ON y.id = x.app_id WHERE y.name = $8))
                AND ($9::text IS NULL OR rule_version IN (
                    SELECT x.id FROM fanfare.rule_versions AS x JOIN fanfare.rules AS y ON y.id = x.rule_id WHERE y.name = $9))
            ORDER BY closed_at
            LIMIT \(TailPush.limit)
        ) AS b
        JOIN fanfare.rule_versions AS v ON v.id = b.rule_version
        JOIN fanfare.rules AS r ON r.id = v.rule_id
        JOIN fanfare.targets AS t ON t.id = b.target_id
        JOIN fanfare.apps AS a ON a.id = t.app_id
        LEFT JOIN LATERAL (
            SELECT q.event_id, q.device_id, d.user_id, c.outcome, c.reason
            FROM (
                SELECT coalesce(b.event_id, b.event_ids[i]) AS event_id, b.device_ids[i] AS device_id,
                    get_byte(b.outcomes, i - 1) AS code
                FROM generate_subscripts(b.device_ids, 1) AS i
            ) AS q
            LEFT JOIN fanfare.outcome_codes AS k ON k.code = q.code
            LEFT JOIN fanfare.devices AS d ON d.id = q.device_id
            CROSS JOIN LATERAL (
                SELECT coalesce(k.outcome, (ARRAY['pending', 'accepted', 'attempted', 'unknown', 'retrying', 'gone', 'rejected'])
                        [1 + width_bucket(q.code, ARRAY[1, 2, 3, 32, 64, 96])]) AS outcome,
                    coalesce(k.reason, 'unknown') AS reason
            ) AS c
            WHERE ($4::bigint IS NULL OR q.event_id = $4) AND ($6::text[] IS NULL OR c.outcome = ANY ($6))
                AND ($7::text IS NULL OR d.user_id = $7)
        ) AS p ON true
        LEFT JOIN fanfare.event_log AS e ON e.day = fanfare.ring_day(p.event_id) AND e.id = p.event_id
        """
    ) { row throws(PostgresError) in
        TailPush(
            batchID: try row.int64(0),
            at: try row.timestamp(1),
            attempt: try row.int16(2),
            eventType: try row.string(3),
            rule: try row.string(4),
            app: try row.string(5),
            provider: try row.string(6),
            environment: try row.string(7),
            delivery: try tailedDelivery(row)
        )
    }

    private static func tailedDelivery(_ row: borrowing PostgresRow) throws(PostgresError) -> TailPush.Delivery? {
        guard let eventID = try row.int64(orNil: 8) else { return nil }
        return TailPush.Delivery(
            eventID: eventID,
            deviceID: try row.int64(9),
            userID: try row.string(orNil: 10),
            outcome: try row.string(11),
            reason: try row.string(12),
            detail: try row.string(orNil: 13),
            emittedAt: try row.timestamp(orNil: 14),
            traceID: try row.string(orNil: 15)
        )
    }
}
