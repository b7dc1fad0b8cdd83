package import PostgresClient

/// Reads the first event of the quarantine, except some.
package struct NextQuarantinedEvent: PostgresStatement {
    package static let name = "next_quarantined_event"
    package static let sql = """
        SELECT xid::text, id FROM fanfare.quarantine WHERE id <> ALL ($1::bigint[]) ORDER BY xid, id LIMIT 1
        """

    package var besides: [Int64] = []

    package init(besides: [Int64] = []) {
        self.besides = besides
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(besides)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> OutboxPlace {
        OutboxPlace(xid: try row.string(0), id: try row.int64(1))
    }
}

/// Reads how many rules an event of the quarantine has.
package struct QuarantinedEventRules: PostgresStatement {
    package static let name = "quarantined_event_rules"
    package static let sql = """
        SELECT count(*) FROM fanfare.rule_versions AS v
        WHERE v.event_type = (SELECT type FROM fanfare.quarantine WHERE xid = $1::text::xid8 AND id = $2)
            AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled
        """

    package let event: OutboxPlace

    package init(event: OutboxPlace) {
        self.event = event
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(event.xid)
        binds.append(event.id)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int64 {
        try row.int64(0)
    }
}

/// Plans one event of the quarantine alone, so that an error is known to be its own.
package struct PlanQuarantinedEvent: PostgresStatement {
    package static let name = "plan_quarantined_event"
    package static let sql = planRoundSQL(taking: takeOneSQL, batchSize: "$3::int")

    package let event: OutboxPlace
    package let batchSize: Int

    package init(event: OutboxPlace, batchSize: Int) {
        self.event = event
        self.batchSize = batchSize
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(event.xid)
        binds.append(event.id)
        binds.append(Int32(batchSize))
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> PlanRoundPart {
        try PlanRoundPart.decode(row)
    }
}

/// Ends an event of the quarantine as refused, after an error of its own.
package struct RefuseQuarantinedEvent: PostgresStatement {
    package static let name = "refuse_quarantined_event"
    package static let sql = """
        WITH \(takeOneSQL)
        INSERT INTO fanfare.event_log (day, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, detail, fate)
        SELECT fanfare.ring_day(id), id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, left($3, 2000), 6 FROM taken
        RETURNING id, \(traceIDSQL(of: "trace"))
        """

    /// The event that failed, which may no longer be the first one.
    package let event: OutboxPlace
    package let detail: String

    package init(event: OutboxPlace, detail: String) {
        self.event = event
        self.detail = detail
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(event.xid)
        binds.append(event.id)
        binds.append(detail)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> RefusedEvent {
        RefusedEvent(id: try row.int64(0), traceID: try row.string(orNil: 1))
    }
}

/// An event that ended as refused.
package struct RefusedEvent {
    package let id: Int64
    /// The id of its trace; nil if it has none.
    package let traceID: String?
}

/// The CTE that takes one event from the quarantine, or none if it is gone.
private let takeOneSQL = """
    taken AS (
        DELETE FROM fanfare.quarantine WHERE xid = $1::text::xid8 AND id = $2::bigint
        RETURNING xid, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, own
    )
    """
