internal import FanfareCore
package import PostgresClient

/// What the user of one pair said of its rule's category.
package struct CalmRow {
    /// Of the pair in its batch.
    package let position: Int
    package let isOptedOut: Bool
    /// Nil unless it is snoozed now.
    package let snoozedUntil: Timestamp?
}

/// Who of a batch's devices is not to be disturbed now; only those are told of.
///
/// For rules that have a category.
/// One look-up for each device and one for its user, fenced by OFFSET 0 as in ``FetchEvents``. Nothing is locked: a preference that was
/// committed before counts, and who is about to change one waits for nobody.
package struct FetchCalm: PostgresStatement {
    package static let name = "fetch_calm"
    package static let sql = """
        SELECT u.position::int - 1, p.is_out, p.until
        FROM unnest($1::bigint[]) WITH ORDINALITY AS u (id, position)
        CROSS JOIN LATERAL (SELECT y.app_id, y.user_id FROM fanfare.devices AS y WHERE y.id = u.id OFFSET 0) AS d
        CROSS JOIN LATERAL (
            SELECT bool_or(x.opted_out) AS is_out, max(x.snoozed_until) AS until FROM fanfare.preferences AS x
            WHERE x.app_id = d.app_id AND x.user_id = d.user_id AND x.category IN ('*', $2) OFFSET 0
        ) AS p
        WHERE p.is_out OR p.until > $3::timestamptz
        """

    package let deviceIDs: [Int64]
    package let category: String
    /// By the database's clock.
    package let now: Timestamp

    package init(deviceIDs: [Int64], category: String, now: Timestamp) {
        self.deviceIDs = deviceIDs
        self.category = category
        self.now = now
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(deviceIDs)
        binds.append(category)
        binds.append(now)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> CalmRow {
        CalmRow(
            position: Int(try row.int32(0)),
            isOptedOut: try row.bool(1),
            snoozedUntil: try row.timestamp(orNil: 2)
        )
    }
}
