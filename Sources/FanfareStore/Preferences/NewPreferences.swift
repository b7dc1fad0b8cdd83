package import PostgresClient

/// Reads the apps with changed user preferences since the last query, by transactions as in ``NewCancels``.
package struct NewPreferences: PostgresStatement {
    package static let name = "new_preferences"
    package static let sql = """
        SELECT look.at::text, n.app
        FROM (SELECT pg_current_snapshot() AS at) AS look
        LEFT JOIN LATERAL (
            SELECT DISTINCT a.name AS app
            FROM fanfare.preferences AS p JOIN fanfare.apps AS a ON a.id = p.app_id
            WHERE p.xid >= pg_snapshot_xmin($1::text::pg_snapshot) AND p.xid < pg_snapshot_xmax(look.at)
                AND NOT pg_visible_in_snapshot(p.xid, $1::text::pg_snapshot)
        ) AS n ON true
        """

    /// The snapshot of the last query; nil to begin with changes from now on.
    package let since: String?

    package init(since: String?) {
        self.since = since
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(since)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (seen: String, app: String?) {
        (try row.string(0), try row.string(orNil: 1))
    }
}
