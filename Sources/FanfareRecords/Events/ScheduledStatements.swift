package import PostgresClient

/// An event that is scheduled and not emitted yet.
public struct ScheduledEvent: Sendable {
    /// The id of the scheduled row; its event will have another.
    public let id: Int64
    /// When it is due; for recipients' own time, an hour before the first time zone's.
    package let at: Timestamp
    /// What each recipient's clock shows when it is due, as `2026-12-24 18:00:00`; nil if it is due for all at once.
    public let wall: String?
    /// The event's type.
    public let type: String
    /// The idempotency key, if any.
    public let key: String?
    /// The event's own ttl in seconds, from when it is due; nil for the rules'.
    public let ttlSeconds: Int64?
    /// The app that it belongs to; nil for none.
    public let app: String?

    /// Its place in the list: its time in microseconds, and its id.
    package var place: [Int64] { [at.microseconds, id] }

    package static let columns = "u.id, u.at, u.wall::text, u.type, u.key, extract(epoch FROM u.ttl)::bigint, u.app"
}

extension SQL {
    /// Reads one scheduled event; no row if it does not wait.
    ///
    /// Binds: id, the app that it must belong to (nil for any).
    package static let showScheduled = Statement<ScheduledEvent, Int64, String?>(
        "show_scheduled",
        "SELECT \(ScheduledEvent.columns) FROM fanfare.upcoming AS u WHERE u.id = $1 AND coalesce(u.app = $2, $2 IS NULL)",
        row: ScheduledEvent.init
    )

    /// Cancels a scheduled message of an app.
    ///
    /// Binds: app, id.
    package static let cancelMessage = Statement<Bool, String, Int64>(
        "cancel_message",
        "SELECT fanfare.cancel_message($1, $2)"
    )

    /// Moves a scheduled message of an app to another time.
    ///
    /// Binds: app, id, time, seconds from now.
    package static let moveMessage = Statement<Bool, String, Int64, String?, Int64?>(
        "move_message",
        "SELECT fanfare.reschedule_message($1, $2, \(timeSQL("$3", "$4")))"
    )

    /// Reads the messages that an app has scheduled, after a place, the next first.
    ///
    /// Binds: app, the time and the id to continue after (nil and 0 for the beginning), limit.
    package static let scheduledMessages = Statement<ScheduledEvent, String, Timestamp?, Int64, Int64>(
        "scheduled_messages",
        """
        SELECT \(ScheduledEvent.columns) FROM fanfare.upcoming AS u
        WHERE u.app = $1 AND ($2::timestamptz IS NULL OR u.at >= $2 AND (u.at, u.id) > ($2, $3))
        ORDER BY u.at, u.id LIMIT $4
        """,
        row: ScheduledEvent.init
    )

    /// Finds scheduled events after a place, the next first; nil where the search reached its limit.
    ///
    /// Binds: type, app, user (nil for all), the time and the id to continue after, limit, the most rows read.
    package static let findScheduled = Statement<
        (found: ScheduledEvent?, place: [Int64]), String?, String?, String?, Timestamp?, Int64, Int32, Int32
    >(
        "find_scheduled",
        "SELECT \(ScheduledEvent.columns) FROM fanfare.find_upcoming($1, $2, $3, $4, $5, $6, $7) AS u"
    ) { row throws(PostgresError) in
        let (id, at) = (try row.int64(0), try row.timestamp(1))
        guard let type = try row.string(orNil: 3) else { return (nil, [at.microseconds, id]) }
        let event = ScheduledEvent(
            id: id,
            at: at,
            wall: try row.string(orNil: 2),
            type: type,
            key: try row.string(orNil: 4),
            ttlSeconds: try row.int64(orNil: 5),
            app: try row.string(orNil: 6)
        )
        return (event, event.place)
    }

    /// Reads the id of the event that a scheduled row became; the id itself for any other.
    ///
    /// Binds: id.
    package static let eventOf = Statement<Int64, Int64>(
        "event_of",
        "SELECT fanfare.event_of($1::bigint)"
    )

    /// Moves a scheduled event to another time; false if it does not wait any more.
    ///
    /// Binds: id, time, seconds from now, payload (nil to keep it).
    package static let moveScheduled = Statement<Bool, Int64, String?, Int64?, String?>(
        "move_scheduled",
        "SELECT fanfare.reschedule($1::bigint, \(timeSQL("$2", "$3")), $4::jsonb)"
    )
}
