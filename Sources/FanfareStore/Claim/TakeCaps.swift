internal import FanfareCore
package import PostgresClient

/// Counts events against the caps of users, and returns the users whose caps allow the event.
///
/// A user's row is checked and written under its lock, in the order of users, so that claims cannot deadlock. An event
/// that was granted already is granted again, for another device, a retry, or after another daemon died. A refused
/// event is refused again for the user's other devices. Cap names that the app does not have limit nothing.
package struct TakeCaps: PostgresStatement {
    package static let name = "take_caps"
    /// How far in the future a grant is dated, in milliseconds.
    ///
    /// A push that is sent by then needs no ``SettleGrants``, which takes as long as all the other queries of a push
    /// with a cap.
    package static let ahead: Int64 = 1000
    /// Whether a user has fewer grants than the smallest cap allows, all of other events: a grant then takes half the time.
    private static let hasRoom = """
        (cardinality(g.grants) < (SELECT few FROM limits) \
        AND array_position(g.grants, excluded.grants[1]) IS NULL AND array_position(g.grants, -excluded.grants[1]) IS NULL)
        """
    private static let taken = """
        fanfare.take(g.grants, excluded.grants, (SELECT max_counts FROM limits), (SELECT floors FROM limits), $6)
        """
    package static let sql = """
        WITH limits AS MATERIALIZED (
            -- 1. By bit: how many there may be, and since when they are counted, in milliseconds since 1970.
            SELECT t.app_id, (extract(epoch FROM n.now) * 1000)::bigint AS now, w.mask, w.few, a.max_counts, a.floors
            FROM fanfare.targets AS t
            CROSS JOIN (SELECT coalesce($5::timestamptz, clock_timestamp()) AS now OFFSET 0) AS n
            CROSS JOIN LATERAL (
                SELECT coalesce(bit_or(1 << c.bit), 0) AS mask, least(2 * min(c.max_count), 32) AS few FROM fanfare.caps AS c
                WHERE c.app_id = t.app_id AND c.retired_at IS NULL AND c.name = ANY ($2::text[])
            ) AS w
            CROSS JOIN LATERAL (
                SELECT array_agg(coalesce(c.max_count, 0) ORDER BY b.bit) AS max_counts,
                    array_agg(CASE WHEN c.bit IS NULL THEN \(Int64.max)
                        ELSE (extract(epoch FROM greatest(c.since + interval '\(ahead) ms', n.now - c.period)) * 1000)::bigint END ORDER BY b.bit) AS floors
                FROM generate_series(0, (SELECT max(x.bit) FROM fanfare.caps AS x WHERE x.app_id = t.app_id AND x.retired_at IS NULL)) AS b (bit)
                LEFT JOIN fanfare.caps AS c ON c.app_id = t.app_id AND c.bit = b.bit AND c.retired_at IS NULL
            ) AS a
            WHERE t.id = $1
        ),
        granted AS (
            INSERT INTO fanfare.cap_grants AS g (app_id, user_id, grants)
            SELECT l.app_id, u.user_id, ARRAY[u.event_id, (l.now + \(ahead)) << 16 | l.mask]
            FROM limits AS l CROSS JOIN unnest($3::text[], $4::bigint[]) AS u (user_id, event_id)
            WHERE l.mask <> 0
            ORDER BY u.user_id COLLATE "C"
            ON CONFLICT (app_id, user_id) DO UPDATE
            -- 2. It sees the row as it is now. Beside it a snapshot would not.
            SET grants = CASE WHEN \(hasRoom) THEN g.grants || excluded.grants ELSE \(taken) END
            WHERE CASE WHEN \(hasRoom) THEN true ELSE \(taken) IS NOT NULL END
            RETURNING g.user_id
        ),
        -- 3. Another device of the user may ask for the same event when a cap has room again.
        refusals AS MATERIALIZED (
            SELECT u.user_id, ARRAY[u.event_id, l.now << 16 | l.mask] AS asked
            FROM limits AS l CROSS JOIN unnest($3::text[], $4::bigint[]) AS u (user_id, event_id)
            WHERE l.mask <> 0 AND u.user_id NOT IN (SELECT user_id FROM granted) AND EXISTS (
                SELECT FROM fanfare.devices AS d WHERE d.app_id = l.app_id AND d.user_id = u.user_id AND d.disabled_at IS NULL OFFSET 1)
        ),
        refused AS (
            UPDATE fanfare.cap_grants AS g
            SET grants = fanfare.refuse(g.grants, (SELECT r.asked FROM refusals AS r WHERE r.user_id = g.user_id))
            -- Nothing is read where none is: mostly.
            WHERE (SELECT count(*) > 0 FROM refusals) AND g.app_id = (SELECT l.app_id FROM limits AS l)
                AND g.user_id = ANY (ARRAY(SELECT r.user_id FROM refusals AS r))
                AND array_position(g.grants, (SELECT -r.asked[1] FROM refusals AS r WHERE r.user_id = g.user_id)) IS NULL
        )
        SELECT user_id FROM granted
        UNION ALL
        SELECT u.user_id FROM limits AS l CROSS JOIN unnest($3::text[]) AS u (user_id) WHERE l.mask = 0
        """

    /// The batch's target.
    package let target: Int16
    package let caps: [String]
    /// The users, each once.
    package let users: [String]
    /// The event of each user.
    package let events: [Int64]
    /// The time; nil for the database's clock.
    package let now: Timestamp?
    /// Whether these are retries: a grant older than a cap's period is counted again.
    package let isRetry: Bool

    package init(
        target: Int16,
        caps: [String],
        users: [String],
        events: [Int64],
        now: Timestamp? = nil,
        isRetry: Bool = false
    ) {
        self.isRetry = isRetry
        self.target = target
        self.caps = caps
        self.users = users
        self.events = events
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(target)
        binds.append(caps)
        binds.append(users)
        binds.append(events)
        binds.append(now)
        binds.append(isRetry)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}
