internal import FanfareCore
package import PostgresClient

/// Corrects what users were granted against caps, once it is known what was sent and when.
///
/// An event is granted when its batch is prepared. It counts from when it was sent, and not at all where it was not: the user opted out
/// meanwhile, or it was late.
///
/// What was not sent to one device may have been sent to another of the same user, and then it counts. To look that up takes some
/// milliseconds for each, so that a statement does so for ``lookups`` of them; the others stay counted.
package struct SettleGrants: PostgresStatement {
    package static let name = "settle_grants"
    /// How many pairs of users with several devices are looked up.
    package static let lookups = 20
    package static let sql = """
        WITH granted AS MATERIALIZED (
            -- 1. Few of what was not sent were granted.
            SELECT d.app_id, d.user_id, u.event_id, max(u.sent_at) AS sent_at
            FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS u (event_id, device_id, sent_at)
            CROSS JOIN LATERAL (
                SELECT x.app_id, x.user_id FROM fanfare.devices AS x WHERE x.id = u.device_id AND x.user_id IS NOT NULL OFFSET 0
            ) AS d
            WHERE EXISTS (
                SELECT FROM fanfare.cap_grants AS x
                WHERE x.app_id = d.app_id AND x.user_id = d.user_id AND u.event_id = ANY (x.grants) OFFSET 0)
            GROUP BY d.app_id, d.user_id, u.event_id
        ),
        -- 2. What became of them on all of their users' devices.
        unsent AS MATERIALIZED (
            SELECT g.app_id, g.user_id, g.event_id, d.ids, row_number() OVER (ORDER BY cardinality(d.ids) > 1) AS number
            FROM granted AS g CROSS JOIN LATERAL (
                SELECT array_agg(x.id) AS ids FROM fanfare.devices AS x WHERE x.app_id = g.app_id AND x.user_id = g.user_id OFFSET 0
            ) AS d
            WHERE g.sent_at IS NULL
        ),
        settled AS MATERIALIZED (
            SELECT s.app_id, s.user_id, array_agg(s.event_id) AS event_ids, array_agg(s.sent_at) AS sent_at
            FROM (
                SELECT app_id, user_id, event_id, sent_at FROM granted WHERE sent_at IS NOT NULL
                UNION ALL
                SELECT u.app_id, u.user_id, u.event_id, NULL FROM unsent AS u
                WHERE cardinality(u.ids) = 1 OR u.number - (SELECT count(*) FROM unsent WHERE cardinality(ids) = 1) <= \(lookups)
                    AND NOT EXISTS (
                        SELECT FROM fanfare.pairs_of(u.event_id, u.ids) AS p
                        WHERE p.is_owned OR p.code BETWEEN \(Outcome.accepted.rawValue) AND \(Outcome.unknown.rawValue)
                            OR p.code >= 32 AND p.code NOT IN (\(Outcome.heldQuiet.rawValue), \(Outcome.heldSnoozed.rawValue)))
            ) AS s
            GROUP BY s.app_id, s.user_id
        ),
        -- 3. In the users' order, as TakeCaps locks them.
        locked AS MATERIALIZED (
            SELECT s.* FROM (SELECT * FROM settled ORDER BY app_id, user_id COLLATE "C") AS s
            CROSS JOIN LATERAL (
                SELECT FROM fanfare.cap_grants AS x WHERE x.app_id = s.app_id AND x.user_id = s.user_id FOR NO KEY UPDATE OFFSET 0
            ) AS g
        )
        UPDATE fanfare.cap_grants AS g SET grants = fanfare.settle(g.grants, l.event_ids, l.sent_at)
        FROM locked AS l WHERE g.app_id = l.app_id AND g.user_id = l.user_id
        """

    /// The events of pairs that may have been granted.
    package let events: [Int64]
    /// The device of each.
    package let devices: [Int64]
    /// When each was sent, in milliseconds since 1970; nil where it was not.
    package let sentAt: [Int64?]

    /// - Parameters:
    ///   - events: of pairs that may have been granted.
    ///   - devices: the device of each.
    ///   - sentAt: when each was sent, in milliseconds since 1970; nil where it was not.
    package init(events: [Int64], devices: [Int64], sentAt: [Int64?]) {
        (self.events, self.devices, self.sentAt) = (events, devices, sentAt)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(events)
        binds.append(devices)
        binds.append(sentAt)
    }
}
