package import PostgresClient

/// Stores the newest event of each collapse key, in key order so that two planners do not deadlock.
package struct NoteNewest: PostgresStatement {
    package static let name = "note_newest"
    package static let sql = """
        INSERT INTO fanfare.collapse_latest (key, event_id)
        SELECT key, max(event_id) FROM unnest($1::bigint[], $2::bigint[]) AS n (key, event_id) GROUP BY key ORDER BY key
        ON CONFLICT (key) DO UPDATE SET event_id = excluded.event_id, created_at = excluded.created_at
            WHERE fanfare.collapse_latest.event_id < excluded.event_id
        """

    package let keys: [Int64]
    package let eventIDs: [Int64]

    package init(keys: [Int64], eventIDs: [Int64]) {
        self.keys = keys
        self.eventIDs = eventIDs
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(keys)
        binds.append(eventIDs)
    }
}

/// Reads the newest event of some collapse keys.
package struct NewestEvents: PostgresStatement {
    package static let name = "newest_events"
    package static let sql = """
        SELECT l.key, l.event_id FROM unnest($1::bigint[]) AS k (key) JOIN fanfare.collapse_latest AS l ON l.key = k.key
        """

    package let keys: [Int64]

    package init(keys: [Int64]) {
        self.keys = keys
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(keys)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (key: Int64, eventID: Int64) {
        (try row.int64(0), try row.int64(1))
    }
}

/// Adds a problem with one rule to a planned event.
///
/// This is the only place where a log row is written twice: a rule that matches an event but cannot be planned for it
/// is rare, and the event was planned for other rules in the same statement.
package struct NotePlanProblem: PostgresStatement {
    package static let name = "note_plan_problem"
    package static let sql = """
        UPDATE fanfare.event_log SET fate = 6, detail = left(concat_ws('; ', detail, $2::text), 2000)
        WHERE day = fanfare.ring_day($1) AND id = $1
        """

    package let eventID: Int64
    package let problem: String

    package init(eventID: Int64, problem: String) {
        self.eventID = eventID
        self.problem = problem
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(eventID)
        binds.append(problem)
    }
}
