internal import PostgresClient

/// One of the two logs, as `fanfare tail` reads the partitions of it.
///
/// The partition's name is part of the text, so these are no prepared statements. All of them bind: the first place to
/// read, the earliest time, the ids that were read before, the event's id, its type and the words that may pass; that of
/// pushes also user, app and rule.
package enum TailReader: String, CaseIterable {
    case events = "event_log"
    case pushes = "batch_log"

    /// Rows read at a time; a batch becomes up to a thousand lines.
    package var limit: Int {
        switch self {
        case .events: 10_000
        case .pushes: 50
        }
    }

    /// The text for one partition; the first two columns are the row's id and its page.
    ///
    /// Whatever a filter leaves of a batch, at least one row tells that it was read.
    package func sql(partition: String) -> String {
        switch self {
        case .events: Self.eventsSQL(partition)
        case .pushes: Self.pushesSQL(partition)
        }
    }

    private static func eventsSQL(_ partition: String) -> String {
        """
        SELECT e.id, (e.ctid::text::point)[0]::bigint, (extract(epoch FROM e.planned_at) * 1e6)::bigint, e.id,
            (extract(epoch FROM e.created_at) * 1e6)::bigint, e.type, f.name, e.key,
            nullif(concat_ws('; ', 'replay of ' || e.replay_of || coalesce(' for ' || e.only_user, ''), e.detail), ''),
            \(traceIDSQL(of: "e.trace"))
        FROM (
            SELECT ctid, * FROM fanfare.\(partition)
            WHERE ctid >= $1::tid AND planned_at >= $2::timestamptz AND id <> ALL ($3::bigint[])
                AND ($4::bigint IS NULL OR id = $4) AND ($5::text IS NULL OR type = $5)
                AND ($6::text[] IS NULL OR fate IN (SELECT x.fate FROM fanfare.event_fates AS x WHERE x.name = ANY ($6)))
            LIMIT \(events.limit)
        ) AS e
        JOIN fanfare.event_fates AS f ON f.fate = e.fate
        """
    }

    private static func pushesSQL(_ partition: String) -> String {
        """
        SELECT b.id, (b.ctid::text::point)[0]::bigint, (extract(epoch FROM b.closed_at) * 1e6)::bigint, p.event_id,
            (extract(epoch FROM e.created_at) * 1e6)::bigint, v.event_type, r.name, a.name, t.platform, t.environment,
            p.device_id, p.user_id, b.attempt, p.outcome, p.reason,
            CASE WHEN p.outcome = 'refused' THEN b.details ->> p.event_id::text END,
            \(traceIDSQL(of: "e.trace"))
        FROM (
            SELECT ctid, * FROM fanfare.\(partition)
            WHERE ctid >= $1::tid AND closed_at >= $2::timestamptz AND id <> ALL ($3::bigint[])
                AND ($4::bigint IS NULL OR event_id = $4 OR int8range(first_event, last_event, '[]') @> $4 AND $4 = ANY (event_ids))
                AND ($5::text IS NULL OR rule_version IN (SELECT id FROM fanfare.rule_versions WHERE event_type = $5))
                AND ($7::text IS NULL OR device_ids && ARRAY(SELECT id FROM fanfare.devices WHERE user_id = $7))
                AND ($8::text IS NULL OR target_id IN (
                    SELECT x.id FROM fanfare.targets AS x JOIN fanfare.apps AS y ON y.id = x.app_id WHERE y.name = $8))
                AND ($9::text IS NULL OR rule_version IN (
                    SELECT x.id FROM fanfare.rule_versions AS x JOIN fanfare.rules AS y ON y.id = x.rule_id WHERE y.name = $9))
            LIMIT \(pushes.limit)
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
    }
}
