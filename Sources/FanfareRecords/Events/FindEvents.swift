package import PostgresClient

/// An event in a list.
package struct FoundEvent: Sendable {
    package let id: Int64
    package let type: String
    package let key: String?
    package let createdAt: Timestamp
    package let fate: String
    package let detail: String?
    package let replayOf: Int64?
}

extension FoundEvent {
    /// Decodes columns in the order of the properties.
    fileprivate init(_ row: borrowing PostgresRow, type: String) throws(PostgresError) {
        self.init(
            id: try row.int64(0),
            type: type,
            key: try row.string(orNil: 2),
            createdAt: try row.timestamp(3),
            fate: try row.string(4),
            detail: try row.string(orNil: 5),
            replayOf: try row.int64(orNil: 6)
        )
    }
}

/// The place where a list of events continues.
package struct EventPlace: Sendable, Equatable {
    /// The transaction by which waiting events are ordered; nil in the log.
    package let transaction: Int64?
    /// The id of the last event before it.
    package let id: Int64

    package init(transaction: Int64? = nil, id: Int64) {
        (self.transaction, self.id) = (transaction, id)
    }
}

extension SQL {
    /// Finds logged events, the newest first; waiting ones are not included.
    ///
    /// Binds: before, since, type, key, fate, limit, budget, app.
    package static let findEvents = Statement<
        SearchRow<FoundEvent>, Int64?, Timestamp?, String?, String?, String?, Int32, Int32, String?
    >(
        "find_events",
        """
        SELECT id, type, key, created_at, fate, detail, replay_of
        FROM fanfare.find_events($1, fanfare.event_id_at($2), $3, $4, $5, $6, $7, $8)
        """
    ) { row throws(PostgresError) in
        let id = try row.int64(0)
        guard let type = try row.string(orNil: 1) else {
            return .stopped(.init(place: id, at: try row.timestamp(orNil: 3)))
        }
        return .found(try FoundEvent(row, type: type))
    }

    /// Finds the first event id of a time or later.
    ///
    /// Binds: at.
    package static let eventIDAt = Statement<Int64, Timestamp>(
        "event_id_at",
        "SELECT fanfare.event_id_at($1)"
    )
}

/// A waiting event, or where the search stopped.
package struct WaitingRow: Sendable {
    /// The event; nil in the last row of a search that reached its limit.
    package let event: FoundEvent?
    /// The place after which the search continues.
    package let place: EventPlace
    /// When the event was emitted.
    package let at: Timestamp
}

/// An event that holds the key.
package struct EventsOfKeyRow: Sendable {
    package let id: Int64
    package let type: String
    package let createdAt: Timestamp
}

extension SQL {
    /// Reads the events that hold a key now, the newest first.
    ///
    /// Binds: key, type.
    package static let eventsOfKey = Statement<EventsOfKeyRow, String, String?>(
        "events_of_key",
        "SELECT id, type, created_at FROM fanfare.events_of_key($1, $2)",
        row: EventsOfKeyRow.init
    )

    /// Finds events that wait to be planned, the newest transaction first.
    ///
    /// Binds: type, key, the app whose rules' types are wanted, limit, the most rows read, the times from which and before
    /// which events are read, the transaction and id after which events are read.
    package static let findWaiting = Statement<
        WaitingRow, String?, String?, String?, Int32, Int32, Timestamp?, Timestamp?, Int64?, Int64?
    >(
        "find_waiting",
        """
        SELECT id, type, key, created_at, 'waiting', detail, replay_of, xid::text::bigint
        FROM fanfare.find_waiting($1, $2, $3, $4, $5, $6, $7, $8::bigint::text::xid8, $9)
        """
    ) { row throws(PostgresError) in
        let place = EventPlace(transaction: try row.int64(7), id: try row.int64(0))
        guard let type = try row.string(orNil: 1) else {
            return WaitingRow(event: nil, place: place, at: try row.timestamp(3))
        }
        return WaitingRow(event: try FoundEvent(row, type: type), place: place, at: try row.timestamp(3))
    }
}

/// One event.
package struct EventHeadRow: Sendable {
    package let event: FoundEvent
    /// The indented payload; nil if it is not kept.
    package let payload: String?
    /// The payload's size in bytes as text without indentation.
    package let payloadBytes: Int64
    /// The id of the emitter's trace, in hexadecimal; nil for none.
    package let traceID: String?
}

extension SQL {
    /// Reads one event without its deliveries, because counting many takes seconds.
    ///
    /// Binds: id.
    package static let eventHead = Statement<EventHeadRow, Int64>(
        "event_head",
        """
        SELECT id, type, key, created_at, fate, detail, replay_of, jsonb_pretty(payload), coalesce(octet_length(payload::text), 0)::bigint,
            trace_id
        FROM fanfare.events WHERE id = $1
        """
    ) { row throws(PostgresError) in
        EventHeadRow(
            event: try FoundEvent(row, type: try row.string(1)),
            payload: try row.string(orNil: 7),
            payloadBytes: try row.int64(8),
            traceID: try row.string(orNil: 9)
        )
    }
}
