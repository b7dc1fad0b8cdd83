package import FanfareCore
package import PostgresClient

/// Why a delivery of a batch is not to be disturbed now; each row tells one reason.
package struct SuppressionRow {
    /// Of the delivery in its batch.
    package let position: Int
    package let isOptedOut: Bool
    /// Nil unless its category is snoozed now.
    package let snoozedUntil: Timestamp?
    /// Nil unless it is quiet now where the device is.
    package let quietUntil: Timestamp?
    /// Whether the quiet hours that the batch goes by, now or later, have what comes in them kept.
    package let isHeld: Bool
}

/// Who of a batch's devices is not to be disturbed now; only those are told of.
///
/// For rules with a category, or that quiet hours hold for. One look-up for each device and one for its user, fenced by OFFSET 0 as in
/// ``FetchEvents``; a clock is read once for each time zone. Nothing is locked: a preference that was committed before counts, and
/// who is about to change one waits for nobody. A time zone that this server knows no more counts as none.
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
    /// The batch's.
    package let target: Int16
    /// Nil for none: then nobody is asked.
    package let category: String?
    /// By the database's clock.
    package let now: Timestamp
    /// Whether the app's quiet hours count, if it has any.
    package let goesByApp: Bool
    /// Those that count otherwise; nil for none.
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
