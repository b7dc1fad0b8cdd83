internal import FanfareCore
package import PostgresClient

/// Corrects the grants of users against caps once it is known what was sent and when.
///
/// An event is granted when its batch is prepared. Its grant then counts from the time of sending, and does not count
/// if it was not sent, because the user opted out meanwhile or it expired.
///
/// If it was not sent to one device, it may have been sent to another of the same user, and then it counts. That
/// look-up takes about 0.1 ms for each device, so a statement does it for ``lookups`` users; the grants of the others
/// stay.
package struct SettleGrants: PostgresStatement {
    package static let name = "settle_grants"
    /// The most deliveries, of users with several devices, that are looked up.
    package static let lookups = 1000
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
        others AS MATERIALIZED (
            SELECT u.app_id, u.user_id, u.event_id, d.id AS device_id
            FROM unsent AS u CROSS JOIN LATERAL unnest(u.ids) AS d (id)
            WHERE cardinality(u.ids) > 1 AND u.number - (SELECT count(*) FROM unsent WHERE cardinality(ids) = 1) <= \(lookups)
        ),
        sent AS MATERIALIZED (
            SELECT DISTINCT o.app_id, o.user_id, o.event_id FROM others AS o
            WHERE EXISTS (\(logged("l.event_id = o.event_id")))
                OR EXISTS (\(logged("l.event_id IS NULL AND int8range(l.first_event, l.last_event, '[]') @> o.event_id")))
                OR EXISTS (
                    SELECT FROM (
                        SELECT b.owner, b.device_ids, b.outcomes FROM fanfare.batches AS b
                        WHERE b.event_id = o.event_id AND int8range(b.device_ids[1], b.device_ids[cardinality(b.device_ids)], '[]') @> o.device_id
                        OFFSET 0
                    ) AS b CROSS JOIN LATERAL (SELECT array_position(b.device_ids, o.device_id) AS place OFFSET 0) AS p
                    WHERE p.place IS NOT NULL
                        AND (b.owner IS NOT NULL OR octet_length(b.outcomes) > 0 AND \(counts("get_byte(b.outcomes, p.place - 1)"))))
                OR (o.event_id, o.device_id) IN (
                    SELECT u.event_id, u.device_id FROM fanfare.batches AS b
                    CROSS JOIN LATERAL unnest(b.event_ids, b.device_ids) AS u (event_id, device_id)
                    WHERE b.owner IS NOT NULL AND b.event_id IS NULL)
        ),
        settled AS MATERIALIZED (
            SELECT s.app_id, s.user_id, array_agg(s.event_id) AS event_ids, array_agg(s.sent_at) AS sent_at
            FROM (
                SELECT app_id, user_id, event_id, sent_at FROM granted WHERE sent_at IS NOT NULL
                UNION ALL
                SELECT u.app_id, u.user_id, u.event_id, NULL FROM unsent AS u WHERE cardinality(u.ids) = 1
                UNION ALL
                SELECT * FROM (
                    SELECT app_id, user_id, event_id, NULL::bigint FROM others EXCEPT SELECT app_id, user_id, event_id, NULL FROM sent
                ) AS o
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

    /// Returns a query for the device's delivery in the log, if it was sent or may have been.
    private static func logged(_ event: String) -> String {
        """
        SELECT FROM (
            SELECT l.device_ids, l.event_ids, l.outcomes FROM fanfare.batch_log AS l
            WHERE \(event) AND int8range(l.first_device, l.last_device, '[]') @> o.device_id
                AND l.day = ANY (ARRAY(
                    SELECT (d % 32)::smallint FROM generate_series(o.event_id >> 32,
                        least((o.event_id >> 32) + 31, (clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01')) AS d))
            OFFSET 0
        ) AS l CROSS JOIN LATERAL unnest(array_positions(l.device_ids, o.device_id)) AS p (place)
        WHERE coalesce(l.event_ids[p.place] = o.event_id, true) AND \(counts("get_byte(l.outcomes, p.place - 1)"))
        """
    }

    /// Returns the condition for outcomes of pushes that were sent, or may have been.
    private static func counts(_ code: String) -> String {
        let held = "\(Outcome.heldQuiet.rawValue), \(Outcome.heldSnoozed.rawValue)"
        return
            "(\(code) BETWEEN \(Outcome.accepted.rawValue) AND \(Outcome.unknown.rawValue) OR \(code) >= 32 AND \(code) NOT IN (\(held)))"
    }

    /// The events of deliveries that may have been granted.
    package let events: [Int64]
    /// The device of each delivery.
    package let devices: [Int64]
    /// When each was sent, in milliseconds since 1970; nil if it was not.
    package let sentAt: [Int64?]

    /// - Parameters:
    ///   - events: the events of deliveries that may have been granted.
    ///   - devices: the device of each delivery.
    ///   - sentAt: when each was sent, in milliseconds since 1970; nil if it was not.
    package init(events: [Int64], devices: [Int64], sentAt: [Int64?]) {
        (self.events, self.devices, self.sentAt) = (events, devices, sentAt)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(events)
        binds.append(devices)
        binds.append(sentAt)
    }
}
