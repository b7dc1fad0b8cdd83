package import PostgresClient

extension SQL {
    /// Stores the newest event of each collapse key, in key order so that two planners do not deadlock.
    ///
    /// Binds: keys, eventIDs.
    package static let noteNewest = Statement<Void, [Int64], [Int64]>(
        "note_newest",
        """
        INSERT INTO fanfare.collapse_latest (key, event_id)
        SELECT key, max(event_id) FROM unnest($1::bigint[], $2::bigint[]) AS n (key, event_id) GROUP BY key ORDER BY key
        ON CONFLICT (key) DO UPDATE SET event_id = excluded.event_id, created_at = excluded.created_at
            WHERE fanfare.collapse_latest.event_id < excluded.event_id
        """
    )

    /// Reads the newest event of some collapse keys.
    ///
    /// Binds: keys.
    package static let newestEvents = Statement<(key: Int64, eventID: Int64), [Int64]>(
        "newest_events",
        """
        SELECT l.key, l.event_id FROM unnest($1::bigint[]) AS k (key) JOIN fanfare.collapse_latest AS l ON l.key = k.key
        """,
        row: { ($0, $1) }
    )

    /// Adds a problem with one rule to a planned event.
    ///
    /// This is the only place where a log row is written twice: a rule that matches an event but cannot be planned for it
    /// is rare, and the event was planned for other rules in the same statement.
    ///
    /// Binds: eventID, problem.
    package static let notePlanProblem = Statement<Void, Int64, String>(
        "note_plan_problem",
        """
        UPDATE fanfare.event_log SET fate = 6, detail = left(concat_ws('; ', detail, $2::text), 2000)
        WHERE day = fanfare.ring_day($1) AND id = $1
        """
    )
}
