package import FanfareCore
package import PostgresClient

/// An event as it is in the log; immutable.
///
/// A class, because each delivery looks at its event, and a copy of its texts would count a reference for each.
package final class EventRow: Sendable {
    package let id: Int64
    package let type: String
    package let key: String?
    package let createdAt: Timestamp
    package let plannedAt: Timestamp
    /// The event's own ttl in seconds.
    package let ttlSeconds: Double?
    package let payload: String
    /// Whether a cancellation of the event was committed before the fetch.
    package let isCancelled: Bool
    /// Whether the cancellation took the event back.
    package let isRetracted: Bool
    /// Whether the event was taken back, for all or for some users.
    package let hasRetractions: Bool
    /// The event that this one replays; nil if it is no replay.
    package let replayOf: Int64?
    /// The trace that it belongs to; nil for none.
    package let trace: TraceContext?

    /// Creates an event from the columns of the log.
    package init(
        id: Int64,
        type: String,
        key: String?,
        createdAt: Timestamp,
        plannedAt: Timestamp,
        ttlSeconds: Double?,
        payload: String,
        isCancelled: Bool,
        isRetracted: Bool = false,
        hasRetractions: Bool = false,
        replayOf: Int64? = nil,
        trace: TraceContext? = nil
    ) {
        (self.id, self.type, self.key) = (id, type, key)
        (self.createdAt, self.plannedAt, self.ttlSeconds) = (createdAt, plannedAt, ttlSeconds)
        (self.payload, self.isCancelled) = (payload, isCancelled)
        (self.isRetracted, self.hasRetractions) = (isRetracted, hasRetractions)
        (self.replayOf, self.trace) = (replayOf, trace)
    }

    /// The event's own ttl, from 0 to the longest that a rule can have; nil if it has none.
    ///
    /// An interval can be longer than microseconds can count, and since PostgreSQL 17 infinite.
    package var ttl: Microseconds? {
        guard let ttlSeconds else { return nil }
        // NaN counts as too long.
        guard ttlSeconds < Double(TimeSpan.limit.seconds) else { return TimeSpan.limit.seconds * Micros.second }
        return Microseconds(max(ttlSeconds, 0) * Double(Micros.second))
    }
}

/// Reads events of one day by id.
///
/// The day is a parameter, so that the other 31 partitions are pruned before the plan is initialized. One look-up per
/// id, fenced by OFFSET 0: `id = ANY` and a plain join were planned as a scan of the whole day for each batch.
package struct FetchEvents: PostgresStatement {
    package static let name = "fetch_events"
    package static let sql = """
        SELECT l.id, l.type, l.key, l.created_at, l.planned_at, extract(epoch FROM l.ttl)::float8, l.payload::text,
            -- Mostly there are none, and no event needs a look.
            EXISTS (SELECT FROM fanfare.cancels) AND (
                EXISTS (SELECT FROM fanfare.cancels AS c WHERE c.event_id = l.id OFFSET 0)
                OR l.key IS NOT NULL AND EXISTS (
                    SELECT FROM fanfare.cancels AS c
                    WHERE c.type = l.type AND c.key = l.key
                        AND NOT fanfare.is_emitted_after(l.id, c.event_number) OFFSET 0)),
            l.replay_of, l.trace,
            EXISTS (SELECT FROM fanfare.cancels)
                AND EXISTS (SELECT FROM fanfare.cancels AS c WHERE c.event_id = l.id AND c.taken_back OFFSET 0),
            EXISTS (SELECT FROM fanfare.retractions)
                AND EXISTS (SELECT FROM fanfare.retractions AS r WHERE r.event_id = l.id OFFSET 0)
        FROM unnest($2::bigint[]) AS x (id)
        CROSS JOIN LATERAL (SELECT * FROM fanfare.event_log AS e WHERE e.day = $1 AND e.id = x.id OFFSET 0) AS l
        """

    /// The partition, 0 to 31.
    package let day: Int16
    /// The events, all of that day.
    package let eventIDs: [Int64]

    package init(day: Int16, eventIDs: [Int64]) {
        self.day = day
        self.eventIDs = eventIDs
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(day)
        binds.append(eventIDs)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> EventRow {
        EventRow(
            id: try row.int64(0),
            type: try row.string(1),
            key: try row.string(orNil: 2),
            createdAt: try row.timestamp(3),
            plannedAt: try row.timestamp(4),
            ttlSeconds: try row.double(orNil: 5),
            payload: try row.string(orNil: 6) ?? "{}",
            isCancelled: try row.bool(7),
            isRetracted: try row.bool(10),
            hasRetractions: try row.bool(11),
            replayOf: try row.int64(orNil: 8),
            trace: try row.bytes(orNil: 9).flatMap { TraceContext(stored: $0) }
        )
    }
}
