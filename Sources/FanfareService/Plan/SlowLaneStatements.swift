internal import PostgresClient

/// Where an event lies in the side queue.
struct SlowEvent: Equatable {
    let xid: String
    let id: Int64
}

/// The first event of the side queue.
struct NextSlowEvent: PostgresStatement {
    static let name = "next_slow_event"
    static let sql = "SELECT xid::text, id FROM fanfare.outbox_slow ORDER BY xid, id LIMIT 1"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> SlowEvent {
        SlowEvent(xid: try row.string(0), id: try row.int64(1))
    }
}

/// Plans one event whose set failed, alone, so that an error is its own.
struct PlanSlowEvent: PostgresStatement {
    static let name = "plan_slow_event"
    static let sql = planRoundSQL(taking: takeOneSQL, batchSize: "$3::int")

    let event: SlowEvent
    let batchSize: Int

    func bind(to binds: inout PostgresBinds) {
        binds.append(event.xid)
        binds.append(event.id)
        binds.append(Int32(batchSize))
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}

/// Moves the set that a failed round would have taken to the side queue, without looking at it.
struct SetAside: PostgresStatement {
    static let name = "set_aside"
    static let sql = """
        WITH \(takeSQL),
        moved AS (
            INSERT INTO fanfare.outbox_slow (xid, id, created_at, type, key, ttl, payload)
            SELECT xid, id, created_at, type, key, ttl, payload FROM taken
            RETURNING id
        )
        SELECT count(*) FROM moved
        """

    let floor: OutboxFloor
    let limit: Int

    func bind(to binds: inout PostgresBinds) {
        binds.append(floor, limit: limit)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int {
        Int(try row.int64(0))
    }
}

/// Ends an event of the side queue as refused: the error was its own.
struct RefuseSlowEvent: PostgresStatement {
    static let name = "refuse_slow_event"
    static let sql = """
        WITH \(takeOneSQL)
        INSERT INTO fanfare.event_log (day, id, created_at, type, key, ttl, payload, detail, fate)
        SELECT fanfare.ring_day(id), id, created_at, type, key, ttl, payload, $3, 6 FROM taken
        RETURNING id
        """

    /// The one that failed: others may have come before it meanwhile.
    let event: SlowEvent
    let detail: String

    func bind(to binds: inout PostgresBinds) {
        binds.append(event.xid)
        binds.append(event.id)
        binds.append(detail)
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// The CTE that takes one event out of the side queue, or none if it is gone.
private let takeOneSQL = """
    taken AS (
        DELETE FROM fanfare.outbox_slow WHERE xid = $1::text::xid8 AND id = $2::bigint
        RETURNING xid, id, created_at, type, key, ttl, payload
    )
    """
