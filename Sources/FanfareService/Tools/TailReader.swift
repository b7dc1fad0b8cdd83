internal import PostgresClient

/// One of the two logs, as `fanfare tail` reads the partitions of it.
///
/// The partition's name is part of the text, so these are no prepared statements. All of them bind: the first place to
/// read, the earliest time, the event's id, its type, and the ids that were read before.
enum TailReader: String, CaseIterable {
    case events = "event_log"
    case pushes = "batch_log"

    /// Rows read at a time; a batch becomes up to a thousand lines.
    var limit: Int {
        switch self {
        case .events: 10_000
        case .pushes: 50
        }
    }

    /// The text for one partition; the first two columns are the row's id and its page.
    func sql(partition: String) -> String {
        switch self {
        case .events:
            """
            SELECT e.id, (e.ctid::text::point)[0]::bigint, (extract(epoch FROM e.planned_at) * 1e6)::bigint, e.id,
                (extract(epoch FROM e.created_at) * 1e6)::bigint, e.type, f.name, e.key, e.detail
            FROM (
                SELECT ctid, * FROM fanfare.\(partition)
                WHERE ctid >= $1::tid AND planned_at >= $2::timestamptz AND ($3::bigint IS NULL OR id = $3)
                    AND ($4::text IS NULL OR type = $4) AND id <> ALL ($5::bigint[])
                LIMIT \(limit)
            ) AS e
            JOIN fanfare.event_fates AS f ON f.fate = e.fate
            """
        case .pushes:
            """
            SELECT b.id, (b.ctid::text::point)[0]::bigint, (extract(epoch FROM b.closed_at) * 1e6)::bigint, p.event_id,
                (extract(epoch FROM e.created_at) * 1e6)::bigint, v.event_type, r.name, a.name, t.platform, t.environment,
                p.device_id, d.user_id, b.attempt,
                coalesce(c.outcome, (ARRAY['pending', 'accepted', 'attempted', 'unknown', 'retrying', 'gone', 'rejected'])
                    [1 + width_bucket(p.code, ARRAY[1, 2, 3, 32, 64, 96])]), coalesce(c.reason, 'unknown')
            FROM (
                SELECT ctid, * FROM fanfare.\(partition)
                WHERE ctid >= $1::tid AND closed_at >= $2::timestamptz
                    AND ($3::bigint IS NULL OR event_id = $3 OR fanfare.event_span(event_ids) @> $3 AND $3 = ANY (event_ids))
                    AND id <> ALL ($5::bigint[])
                    AND ($4::text IS NULL OR rule_version IN (SELECT id FROM fanfare.rule_versions WHERE event_type = $4))
                LIMIT \(limit)
            ) AS b
            CROSS JOIN LATERAL (
                SELECT coalesce(b.event_id, b.event_ids[i]) AS event_id, b.device_ids[i] AS device_id,
                    get_byte(b.outcomes, i - 1) AS code
                FROM generate_subscripts(b.device_ids, 1) AS i) AS p
            JOIN fanfare.rule_versions AS v ON v.id = b.rule_version
            JOIN fanfare.rules AS r ON r.id = v.rule_id
            JOIN fanfare.targets AS t ON t.id = b.target_id
            JOIN fanfare.apps AS a ON a.id = t.app_id
            LEFT JOIN fanfare.outcome_codes AS c ON c.code = p.code
            LEFT JOIN fanfare.devices AS d ON d.id = p.device_id
            LEFT JOIN fanfare.event_log AS e ON e.day = fanfare.ring_day(p.event_id) AND e.id = p.event_id
            WHERE $3::bigint IS NULL OR p.event_id = $3
            """
        }
    }

    /// Reads one row of ``sql(partition:)``; nil where it has another shape.
    func line(_ row: [String?]) -> TailLine? {
        func number(_ index: Int) -> Int64? { row[index].flatMap { Int64($0) } }
        guard row.count >= 9, let at = number(2), let eventID = number(3) else { return nil }
        let emittedAt = number(4).map { Timestamp(microseconds: $0) }
        let subject: TailLine.Subject
        switch self {
        case .events: subject = .event(fate: row[6] ?? "", key: row[7], detail: row[8])
        case .pushes:
            guard row.count == 15, let batchID = number(0), let deviceID = number(10), let attempt = number(12) else {
                return nil
            }
            subject = .push(
                TailLine.Push(
                    rule: row[6] ?? "",
                    app: row[7] ?? "",
                    platform: row[8] ?? "",
                    environment: row[9] ?? "",
                    deviceID: deviceID,
                    userID: row[11],
                    attempt: attempt,
                    outcome: row[13] ?? "",
                    reason: row[14] ?? "",
                    batchID: batchID
                )
            )
        }
        return TailLine(
            at: Timestamp(microseconds: at),
            eventID: eventID,
            eventType: row[5] ?? "",
            emittedAt: emittedAt,
            subject: subject
        )
    }
}
