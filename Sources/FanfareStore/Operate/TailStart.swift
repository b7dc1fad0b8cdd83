package import FanfareCore
package import PostgresClient

/// When a tail begins: now, where it should begin later.
package struct TailStart: PostgresStatement {
    package static let name = "tail_start"
    package static let sql = """
        SELECT least((extract(epoch FROM s.at) * 1e6)::bigint, (extract(epoch FROM clock_timestamp()) * 1e6)::bigint)
        FROM (
            SELECT coalesce($2::timestamptz, clock_timestamp() - make_interval(secs => coalesce($1, 0)::float8)) AS at
        ) AS s
        """

    package let since: Since?

    package init(since: Since?) {
        self.since = since
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(since?.seconds)
        binds.append(since?.text)
    }

    /// Microseconds since 1970.
    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Which rows of the two logs a look of a tail reads.
package struct TailWindow: Sendable {
    /// Not older.
    package let since: Timestamp
    /// Not later.
    package let until: Timestamp
    /// Rows of that time that were read before: an event's id, a batch's id.
    package let seen: [Int64]
    /// Of this event only; nil for all.
    package var eventID: Int64?
    /// Of events of this type only.
    package var eventType: String?
    /// With one of these outcomes or fates.
    package var outcomes: [String]?
    /// Pushes to devices of this user only.
    package var user: String?
    /// Pushes of this app only.
    package var app: String?
    /// Pushes of the rules of this name only.
    package var rule: String?

    package init(since: Timestamp, until: Timestamp, seen: [Int64]) {
        (self.since, self.until, self.seen) = (since, until, seen)
    }

    func bind(to binds: inout PostgresBinds) {
        binds.append(since)
        binds.append(until)
        binds.append(seen)
        binds.append(eventID)
        binds.append(eventType)
        binds.append(outcomes)
    }
}

/// Events that were planned in a window, by the index on the time of planning: the oldest, and so many that a further look may be needed.
package struct TailEvents: PostgresStatement {
    /// Rows read at a time.
    package static let limit = 10_000
    package static let name = "tail_events"
    package static let sql = """
        SELECT e.id, e.planned_at, e.created_at, e.type, f.name, e.key,
            nullif(concat_ws('; ', 'replay of ' || e.replay_of || coalesce(' for ' || e.only_user, ''), e.detail), ''),
            \(traceIDSQL(of: "e.trace"))
        FROM (
            SELECT * FROM fanfare.event_log
            WHERE planned_at >= $1 AND planned_at <= $2 AND id <> ALL ($3)
                AND ($4::bigint IS NULL OR id = $4) AND ($5::text IS NULL OR type = $5)
                AND ($6::text[] IS NULL OR fate IN (SELECT x.fate FROM fanfare.event_fates AS x WHERE x.name = ANY ($6)))
            ORDER BY planned_at
            LIMIT \(limit)
        ) AS e
        JOIN fanfare.event_fates AS f ON f.fate = e.fate
        """

    package let window: TailWindow

    package init(_ window: TailWindow) {
        self.window = window
    }

    /// One event.
    package struct Row: Sendable {
        package let id: Int64
        package let at: Timestamp
        package let createdAt: Timestamp
        package let type: String
        package let fate: String
        package let key: String?
        package let detail: String?
        package let traceID: String?
    }

    package func bind(to binds: inout PostgresBinds) { window.bind(to: &binds) }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(
            id: try row.int64(0),
            at: try row.timestamp(1),
            createdAt: try row.timestamp(2),
            type: try row.string(3),
            fate: try row.string(4),
            key: try row.string(orNil: 5),
            detail: try row.string(orNil: 6),
            traceID: try row.string(orNil: 7)
        )
    }
}
