package import PostgresClient

extension SQL {
    /// Reads the first event of the quarantine, except some.
    ///
    /// Binds: besides.
    package static let nextQuarantinedEvent = Statement<OutboxPlace, [Int64]>(
        "next_quarantined_event",
        """
        SELECT xid::text, id FROM fanfare.quarantine WHERE id <> ALL ($1::bigint[]) ORDER BY xid, id LIMIT 1
        """,
        row: OutboxPlace.init
    )

    /// Reads how many rules an event of the quarantine has.
    ///
    /// Binds: event xid, event id.
    package static let quarantinedEventRules = Statement<Int64, String, Int64>(
        "quarantined_event_rules",
        """
        SELECT count(*) FROM fanfare.rule_versions AS v
        WHERE v.event_type = (SELECT type FROM fanfare.quarantine WHERE xid = $1::text::xid8 AND id = $2)
            AND v.state = 'active' AND v.retired_at IS NULL AND v.enabled
        """
    )

    /// Plans one event of the quarantine alone, so that an error is known to be its own.
    ///
    /// Binds: event xid, event id, batchSize.
    package static let planQuarantinedEvent = Statement<PlanRoundPart, String, Int64, Int32>(
        "plan_quarantined_event",
        planRoundSQL(taking: takeOneSQL, batchSize: "$3::int")
    ) { row throws(PostgresError) in
        try PlanRoundPart.decode(row)
    }

    /// Ends an event of the quarantine as refused, after an error of its own.
    ///
    /// Binds: event xid, event id, detail.
    package static let refuseQuarantinedEvent = Statement<RefusedEvent, String, Int64, String>(
        "refuse_quarantined_event",
        """
        WITH \(takeOneSQL)
        INSERT INTO fanfare.event_log (day, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, wall, detail, fate)
        SELECT fanfare.ring_day(id), id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, wall, left($3, 2000), 6 FROM taken
        RETURNING id, \(traceIDSQL(of: "trace"))
        """,
        row: RefusedEvent.init
    )
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
        RETURNING xid, id, created_at, type, key, ttl, payload, replay_of, only_app, only_user, trace, own, wall
    )
    """
