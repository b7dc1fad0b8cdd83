package import FanfareCore
package import PostgresClient

/// An event that a rule gathers.
package struct GatheredEvent {
    package let eventID: Int64
    /// The digest rule, which is stored in addition to the author's rule.
    package let ruleID: Int32
    /// The key under which it is gathered.
    package let key: String
    package let pace: DigestDefinition.Pace

    package init(eventID: Int64, ruleID: Int32, key: String, pace: DigestDefinition.Pace) {
        (self.eventID, self.ruleID, self.key, self.pace) = (eventID, ruleID, key, pace)
    }

    /// How long after this event its digest is due, unless other events change that.
    fileprivate var window: TimeSpan {
        switch pace {
        case .digest(let every): every
        case .debounce(let wait, _): wait
        }
    }

    /// How long after the first event the digest is due at the latest; nil if later events do not defer it.
    fileprivate var longest: TimeSpan? {
        switch pace {
        case .digest: nil
        case .debounce(_, let longest): longest
        }
    }
}

/// Adds events to the open digests of their keys, in the transaction that plans them.
///
/// One row per key is written: it names the newest events and counts all. Rows are written in the order of rules and
/// keys, so that two planners do not deadlock.
package struct GatherEvents: PostgresStatement {
    /// How many events a digest names.
    private static let named = 100

    package static let name = "gather_events"
    package static let sql = """
        INSERT INTO fanfare.open_digests AS g (rule_id, key, began_at, due_at, last_at, count, event_ids)
        SELECT e.rule_id, e.key, $1::timestamptz, $1 + max(e.span) * interval '1 second',
            $1 + max(e.longest) * interval '1 second', count(*), (array_agg(e.event_id ORDER BY e.event_id DESC))[1:\(named)]
        FROM unnest($2::int[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[]) AS e (rule_id, key, event_id, span, longest)
        GROUP BY e.rule_id, e.key ORDER BY e.rule_id, e.key
        ON CONFLICT (rule_id, key) DO UPDATE
        SET count = g.count + excluded.count, event_ids = (excluded.event_ids || g.event_ids)[1:\(named)],
            due_at = CASE WHEN g.last_at IS NULL OR excluded.last_at IS NULL THEN g.due_at ELSE least(greatest(g.due_at, excluded.due_at), g.last_at) END
        """

    private let events: [GatheredEvent]
    private let now: Timestamp

    /// Creates the statement.
    ///
    /// - Parameters:
    ///   - events: the events, in any order.
    ///   - now: the time, in database time.
    package init(_ events: [GatheredEvent], now: Timestamp) {
        (self.events, self.now) = (events, now)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(now)
        binds.append(events.map(\.ruleID))
        binds.append(events.map(\.key))
        binds.append(events.map(\.eventID))
        binds.append(events.map(\.window.seconds))
        binds.append(events.map { $0.longest?.seconds })
    }
}
