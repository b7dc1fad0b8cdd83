package import PostgresClient

/// One rule.
package struct RuleWeeksRow: Sendable {
    /// The rule's position among those requested, from 1.
    package let position: Int64
    package let changedAt: Timestamp
    /// The accepted pushes by day in UTC, today last, of the versions that the rule's page counts.
    package let accepted: [Int64]
}

extension SQL {
    /// Reads when rules were last stored, and how many of their pushes providers accepted on each of the last days; one row
    /// for each existing rule.
    ///
    /// Binds: apps, names, days.
    package static let ruleWeeks = Statement<RuleWeeksRow, [String], [String], Int32>(
        "rule_weeks",
        """
        WITH pending AS MATERIALIZED (
            SELECT p.rule_version, (p.at AT TIME ZONE 'UTC')::date AS day, sum(p.deliveries) AS deliveries
            FROM fanfare.stats_pending AS p WHERE p.outcome = 1 GROUP BY 1, 2),
        asked AS MATERIALIZED (
            SELECT q.position, r.id AS rule_id
            FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS q (app, rule, position)
            JOIN fanfare.apps AS a ON a.name = q.app
            JOIN fanfare.rules AS r ON r.app_id = a.id AND r.name = q.rule AND r.dropped_at IS NULL),
        versions AS MATERIALIZED (
            SELECT a.position, v.id FROM asked AS a CROSS JOIN LATERAL (\(CountedVersions.of("a.rule_id"))) AS v),
        days AS MATERIALIZED (
            SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date - n AS day FROM generate_series($3::int - 1, 0, -1) AS n),
        counted AS MATERIALIZED (
            SELECT s.position, s.day, sum(s.deliveries) AS deliveries
            FROM (
                SELECT v.position, x.day, x.deliveries FROM versions AS v
                JOIN fanfare.stats AS x ON x.rule_version = v.id AND x.outcome = 1 AND x.day = ANY (ARRAY(SELECT day FROM days))
                UNION ALL
                SELECT v.position, p.day, p.deliveries FROM versions AS v JOIN pending AS p ON p.rule_version = v.id) AS s
            GROUP BY 1, 2)
        SELECT a.position, n.created_at, ARRAY(
            SELECT coalesce((SELECT c.deliveries FROM counted AS c WHERE c.position = a.position AND c.day = d.day), 0)::bigint
            FROM days AS d ORDER BY d.day)
        FROM asked AS a
        CROSS JOIN LATERAL (
            SELECT v.created_at FROM fanfare.rule_versions AS v WHERE v.rule_id = a.rule_id AND v.winner_of IS NULL ORDER BY v.version DESC LIMIT 1) AS n
        ORDER BY a.position
        """,
        row: RuleWeeksRow.init
    )
}
