internal import FanfareStore
package import PostgresClient

extension SQL {
    /// Computes when a tail begins: at the requested time, but not later than now.
    ///
    /// Its row is microseconds since 1970.
    ///
    /// Binds: since seconds, since text.
    package static let tailStart = Statement<Int64, Int64?, String?>(
        "tail_start",
        """
        SELECT least((extract(epoch FROM s.at) * 1e6)::bigint, (extract(epoch FROM clock_timestamp()) * 1e6)::bigint)
        FROM (
            SELECT coalesce($2::timestamptz, clock_timestamp() - make_interval(secs => coalesce($1, 0)::float8)) AS at
        ) AS s
        """
    )
}

/// The window of the two logs that one query of a tail reads, with its filters.
package struct TailWindow: PostgresBind {
    /// The start of the window.
    package let since: Timestamp
    /// The end of the window.
    package let until: Timestamp
    /// Ids of rows in the window that were read before, of events or of batches.
    package let seen: [Int64]
    /// The only event; nil for all.
    package var eventID: Int64?
    /// The only event type.
    package var eventType: String?
    /// The outcomes or fates wanted.
    package var outcomes: [String]?
    /// The only user whose devices' pushes are wanted.
    package var user: String?
    /// The only app whose pushes are wanted.
    package var app: String?
    /// The only name of rules whose pushes are wanted.
    package var rule: String?

    package init(since: Timestamp, until: Timestamp, seen: [Int64]) {
        (self.since, self.until, self.seen) = (since, until, seen)
    }

    package func append(to binds: inout PostgresBinds) {
        binds.append(since)
        binds.append(until)
        binds.append(seen)
        binds.append(eventID)
        binds.append(eventType)
        binds.append(outcomes)
    }
}

/// One event of a tail.
package struct TailEvent: Sendable {
    /// The most rows per query.
    package static let limit = 10_000

    package let id: Int64
    package let at: Timestamp
    package let createdAt: Timestamp
    package let type: String
    package let fate: String
    package let key: String?
    package let detail: String?
    package let traceID: String?
}

extension SQL {
    /// Reads the oldest events planned in a window, by the index on the time of planning; if the limit is reached, there
    /// may be more.
    ///
    /// Binds: window.
    package static let tailEvents = Statement<TailEvent, TailWindow>(
        "tail_events",
        """
        SELECT e.id, e.planned_at, e.created_at, e.type, f.name, e.key,
            nullif(concat_ws('; ', 'replay of ' || e.replay_of || coalesce(' for ' || e.only_user, ''), e.detail), ''),
            \(traceIDSQL(of: "e.trace"))
        FROM (
            SELECT * FROM fanfare.event_log
            WHERE planned_at >= $1 AND planned_at <= $2 AND id <> ALL ($3)
                AND ($4::bigint IS NULL OR id = $4) AND ($5::text IS NULL OR type = $5)
                AND ($6::text[] IS NULL OR fate IN (SELECT x.fate FROM fanfare.event_fates AS x WHERE x.name = ANY ($6)))
            ORDER BY planned_at
            LIMIT \(TailEvent.limit)
        ) AS e
        JOIN fanfare.event_fates AS f ON f.fate = e.fate
        """,
        row: TailEvent.init
    )
}
