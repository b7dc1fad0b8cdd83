internal import FanfareCore
package import PostgresClient

/// An event that no planner has taken yet.
package struct WaitingEvent: Equatable, Sendable {
    package let id: Int64
    package let createdAt: Timestamp
}

extension SQL {
    /// Finds the first events in the planners' order, if they are old.
    ///
    /// Binds: ageMicroseconds.
    package static let waitingEvents = Statement<WaitingEvent, Int64>(
        "waiting_events",
        """
        WITH RECURSIVE \(QueryChoice.waitingSQL)
        SELECT e.id, e.created_at
        FROM (
            (SELECT id, created_at FROM fanfare.outbox ORDER BY xid, id LIMIT 1000)
            UNION ALL
            (SELECT id, created_at FROM fanfare.quarantine ORDER BY xid, id LIMIT 1000)
            UNION ALL
            -- The first of each rule, from when on its query is due: until then it waits by right.
            (SELECT t.event_id, t.not_before
                FROM waiting AS w CROSS JOIN LATERAL (
                    SELECT q.event_id, q.not_before FROM fanfare.audience_queries AS q
                    WHERE q.rule_version = w.rule_version ORDER BY q.not_before, q.event_id LIMIT 1
                ) AS t
                LIMIT 1000)
        ) AS e
        WHERE e.created_at < clock_timestamp() - $1 * interval '1 microsecond'
        """,
        row: WaitingEvent.init
    )
}

/// A batch that may have stopped making progress.
package struct StandingBatch: Hashable, Sendable {
    /// Where the batch is.
    package enum State: Int16, CaseIterable, Sendable {
        case due = 0
        case orphaned = 1
        case inFlight = 2

        /// A readable description of the state.
        package var words: String {
            switch self {
            case .due: "due and not claimed"
            case .orphaned: "of a daemon that is gone"
            case .inFlight: "in flight and not going on"
            }
        }
    }

    package let id: Int64
    package let state: State
    /// The lease token of its claim; 0 if it is not claimed.
    package let leaseToken: Int64
    /// A value that changes whenever an outcome is saved.
    package let progress: Int64
    /// When it was due, or created.
    package let since: Timestamp
}

extension SQL {
    /// Finds the next batches of each queue that have long been due without a gate or rate to delay them, and all claimed
    /// batches.
    ///
    /// Binds: ageMicroseconds.
    package static let standingBatches = Statement<StandingBatch, Int64>(
        "standing_batches",
        """
        WITH RECURSIVE
        -- 1. The gates that something waits behind, in as many steps along the index.
        used AS (
            SELECT 0 AS id
            UNION ALL
            SELECT next.id FROM used AS u CROSS JOIN LATERAL (
                SELECT b.gate_id AS id FROM fanfare.batches AS b WHERE b.lease_token IS NULL AND b.gate_id > u.id
                ORDER BY b.gate_id LIMIT 1
            ) AS next
        ),
        -- 2. Those that hold nothing back; one that is not there will never be opened.
        passable AS MATERIALIZED (
            SELECT u.id FROM used AS u LEFT JOIN fanfare.gates AS g ON g.id = u.id
            WHERE g.id IS NULL OR g.state = 'done' OR (g.state = 'open' AND NOT g.is_paused AND g.rate_id IS NULL)
        )
        SELECT 0::smallint, b.id, 0::bigint, 0::bigint, b.not_before
        FROM passable AS p CROSS JOIN fanfare.targets AS t CROSS JOIN unnest(ARRAY[0, 1, 2]::smallint[]) AS l (lane)
        CROSS JOIN unnest(ARRAY[false, true]) AS r (is_retry)
        CROSS JOIN LATERAL (
            SELECT x.id, x.not_before FROM fanfare.batches AS x
            WHERE \(QueueSQL.waits("x", gate: "p.id", target: "t.id", lane: "l.lane", isRetry: "r.is_retry"))
                AND x.not_before < clock_timestamp() - $1 * interval '1 microsecond'
                AND (l.lane = \(Lane.transactional.rawValue)
                    OR NOT EXISTS (SELECT FROM fanfare.rates AS r WHERE \(RateSQL.isOf("r", target: "t"))))
            ORDER BY x.not_before, x.id LIMIT 100
        ) AS b
        UNION ALL
        SELECT (CASE WHEN i.lease_until > clock_timestamp() THEN 2 ELSE 1 END)::smallint, b.id, b.lease_token,
            ('x' || left(md5(b.outcomes), 16))::bit(64)::bigint, b.created_at
        FROM (SELECT * FROM fanfare.batches WHERE owner IS NOT NULL LIMIT 5000) AS b
        LEFT JOIN fanfare.instances AS i ON i.id = b.owner
        """
    ) { row throws(PostgresError) in
        StandingBatch(
            id: try row.int64(1),
            state: StandingBatch.State(rawValue: try row.int16(0)) ?? .inFlight,
            leaseToken: try row.int64(2),
            progress: try row.int64(3),
            since: try row.timestamp(4)
        )
    }
}

/// The progress of a large audience's expansion.
package struct OpenedCursor: Hashable, Sendable {
    package let eventID: Int64
    package let ruleVersion: Int32
    package let cursor: Int64
    package let createdAt: Timestamp
}

extension SQL {
    /// Reads the progress of all plans.
    package static let openedCursors = Statement<OpenedCursor>(
        "opened_cursors",
        """
        SELECT event_id, rule_version, cursor, created_at FROM fanfare.plans ORDER BY event_id, rule_version LIMIT 1000
        """,
        row: OpenedCursor.init
    )

    /// Stores the result of a check.
    ///
    /// Returns no row, and stores nothing, if an earlier finding must be kept for an operator.
    ///
    /// Binds: finding.
    package static let storeFinding = Statement<(found: Int64, before: Int64), AuditFinding>(
        "store_finding",
        """
        WITH before AS (SELECT found FROM fanfare.audits WHERE name = $1),
        stored AS (
            INSERT INTO fanfare.audits AS a (name, found, detail) VALUES ($1, $2, $3)
            ON CONFLICT (name) DO UPDATE SET
                found = excluded.found, detail = excluded.detail, checked_at = clock_timestamp(),
                since = CASE WHEN (a.found = 0) = (excluded.found = 0) THEN a.since ELSE clock_timestamp() END
            WHERE excluded.found > 0 OR a.found = 0 OR a.checked_at < clock_timestamp() - $4 * interval '1 second'
            RETURNING found
        )
        SELECT s.found, coalesce((SELECT b.found FROM before AS b), 0) FROM stored AS s
        """,
        row: { ($0, $1) }
    )
}
