package import FanfareCore
package import PostgresClient

/// When rules were put last, and how many of their pushes providers took on each of the last days; a row for each rule that there is.
package struct RuleWeeks: PostgresStatement {
    package static let name = "rule_weeks"
    package static let sql = """
        WITH pending AS MATERIALIZED (
            SELECT p.rule_version, (p.at AT TIME ZONE 'UTC')::date AS day, sum(p.pairs) AS pairs
            FROM fanfare.stats_pending AS p WHERE p.outcome = 1 GROUP BY 1, 2)
        SELECT q.position, n.created_at, ARRAY(
            SELECT (coalesce((
                SELECT sum(s.pairs) FROM fanfare.stats AS s
                WHERE s.day = d.day AND s.outcome = 1 AND s.rule_version = ANY (x.versions)), 0)
                + coalesce((
                SELECT sum(p.pairs) FROM pending AS p WHERE p.day = d.day AND p.rule_version = ANY (x.versions)), 0))::bigint
            FROM (SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date - g.n AS day FROM generate_series($3::int - 1, 0, -1) AS g (n)) AS d)
        FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS q (app, rule, position)
        JOIN fanfare.apps AS a ON a.name = q.app
        JOIN fanfare.rules AS r ON r.app_id = a.id AND r.name = q.rule AND r.dropped_at IS NULL
        CROSS JOIN LATERAL (
            SELECT v.created_at FROM fanfare.rule_versions AS v WHERE v.rule_id = r.id ORDER BY v.version DESC LIMIT 1) AS n
        CROSS JOIN LATERAL (SELECT ARRAY(
            SELECT v.id FROM fanfare.rule_versions AS v WHERE v.rule_id = r.id ORDER BY v.version DESC LIMIT 10) AS versions) AS x
        ORDER BY q.position
        """

    package let ids: [RuleID]
    package let days: Int32

    package init(of ids: [RuleID], days: Int32) {
        (self.ids, self.days) = (ids, days)
    }

    /// One rule.
    package struct Row: Sendable {
        /// Which of those that were asked about, from 1.
        package let position: Int64
        package let changedAt: Timestamp
        /// By day in UTC, today last; of its last ten versions.
        package let accepted: [Int64]
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ids.map(\.app))
        binds.append(ids.map(\.name))
        binds.append(days)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        Row(position: try row.int64(0), changedAt: try row.timestamp(1), accepted: try row.int64s(2))
    }
}
