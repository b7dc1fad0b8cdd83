package import FanfareCore
package import PostgresClient

/// A reason not to push a delivery of a batch now; one row per reason.
package struct SuppressionRow {
    /// The delivery's position in its batch.
    package let position: Int
    package let isOptedOut: Bool
    /// When the snooze of its category ends; nil unless it is snoozed now.
    package let snoozedUntil: Timestamp?
    /// When the device's quiet hours end; nil unless they apply now.
    package let quietUntil: Timestamp?
    /// Whether the quiet hours that apply to the batch hold pushes rather than drop them.
    package let isHeld: Bool
}

/// Reads which devices of a batch must not be pushed to now; only these have rows.
///
/// For rules with a category or quiet hours. One look-up for each device and one for its user, fenced by OFFSET 0 as in
/// ``FetchEvents``; the wall time is computed once for each time zone. Nothing is locked: a preference that was
/// committed before counts, and a transaction that changes one does not wait. A time zone that this server no longer
/// knows counts as none.
package struct FetchSuppressions: PostgresStatement {
    package static let name = "fetch_suppressions"
    package static let sql = """
        WITH quiet AS MATERIALIZED (
            SELECT coalesce(p.time_zone, 'UTC') AS fallback,
                CASE WHEN $5 THEN p.quiet_from ELSE $6::text::time END AS quiet_from,
                CASE WHEN $5 THEN p.quiet_until ELSE $7::text::time END AS quiet_until,
                CASE WHEN $5 THEN p.quiet_mode = 'hold' ELSE $8::boolean END AS is_held
            FROM fanfare.targets AS t LEFT JOIN fanfare.policies AS p ON p.app_id = t.app_id
            WHERE t.id = $2
        ),
        d AS MATERIALIZED (
            SELECT u.position::int - 1 AS position, x.app_id, x.user_id, x.zone
            FROM unnest($1::bigint[]) WITH ORDINALITY AS u (id, position)
            CROSS JOIN LATERAL (
                SELECT y.app_id, y.user_id, coalesce(y.time_zone, '') AS zone FROM fanfare.devices AS y WHERE y.id = u.id OFFSET 0
            ) AS x
        ),
        z AS MATERIALIZED (
            SELECT g.positions, fanfare.wakes_at($4::timestamptz, fanfare.zone(g.zone, q.fallback), q.quiet_from, q.quiet_until) AS wakes
            FROM quiet AS q CROSS JOIN (SELECT d.zone, array_agg(d.position) AS positions FROM d GROUP BY d.zone) AS g
            WHERE q.quiet_from IS NOT NULL
        )
        SELECT d.position, p.is_out, CASE WHEN p.until > $4 THEN p.until END, NULL::timestamptz, coalesce(q.is_held, false)
        FROM quiet AS q CROSS JOIN d CROSS JOIN LATERAL (
            SELECT bool_or(x.opted_out) AS is_out, max(x.snoozed_until) AS until FROM fanfare.preferences AS x
            WHERE $3::text IS NOT NULL AND x.app_id = d.app_id AND x.user_id = d.user_id AND x.category IN ('*', $3) OFFSET 0
        ) AS p
        WHERE p.is_out OR p.until > $4
        UNION ALL
        SELECT u.position, false, NULL, z.wakes, coalesce(q.is_held, false)
        FROM quiet AS q CROSS JOIN z CROSS JOIN LATERAL unnest(z.positions) AS u (position) WHERE z.wakes IS NOT NULL
        """

    package let deviceIDs: [Int64]
    /// The batch's target.
    package let target: Int16
    /// The rule's category; nil for none, and then no preferences are read.
    package let category: String?
    /// The time, in database time.
    package let now: Timestamp
    /// Whether the app's quiet hours apply, if it has any.
    package let goesByApp: Bool
    /// The quiet hours that apply instead; nil for none.
    package let hours: QuietHours?

    package init(
        deviceIDs: [Int64],
        target: Int16,
        category: String?,
        now: Timestamp,
        goesByApp: Bool,
        hours: QuietHours?
    ) {
        self.deviceIDs = deviceIDs
        self.target = target
        self.category = category
        self.now = now
        self.goesByApp = goesByApp
        self.hours = hours
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(deviceIDs)
        binds.append(target)
        binds.append(category)
        binds.append(now)
        binds.append(goesByApp)
        binds.append(hours?.from)
        binds.append(hours?.until)
        binds.append(hours.map { $0.mode == .hold })
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> SuppressionRow {
        SuppressionRow(
            position: Int(try row.int32(0)),
            isOptedOut: try row.bool(1),
            snoozedUntil: try row.timestamp(orNil: 2),
            quietUntil: try row.timestamp(orNil: 3),
            isHeld: try row.bool(4)
        )
    }
}
