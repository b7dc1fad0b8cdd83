package import PostgresClient

/// One version.
package struct RuleVersionsRow: Sendable {
    package let version: Int32
    /// `unchecked`, `active` or `refused`.
    package let state: String
    /// Why it is refused; nil if it is not.
    package let reason: String?
    package let createdAt: Timestamp
    package let checkedAt: Timestamp?
    package let retiredAt: Timestamp?
    package let isEnabled: Bool
    package let definition: String
}

extension SQL {
    /// Reads the versions of a rule, the newest first.
    ///
    /// Binds: app, name, before, limit.
    package static let ruleVersions = Statement<RuleVersionsRow, String, String, Int32?, Int64>(
        "rule_versions",
        """
        SELECT v.version, v.state, v.reason, v.created_at, v.checked_at, v.retired_at, v.enabled, v.definition::text
        FROM fanfare.rule_versions AS v
        WHERE v.rule_id = (
            SELECT r.id FROM fanfare.rules AS r JOIN fanfare.apps AS a ON a.id = r.app_id
            WHERE a.name = $1 AND r.name = $2 AND r.dropped_at IS NULL)
            AND ($3::int IS NULL OR v.version < $3)
        ORDER BY v.version DESC
        LIMIT $4
        """,
        row: RuleVersionsRow.init
    )
}

/// The versions of a rule whose outcomes are counted, the same for all statements.
///
/// Old versions count too: their planned deliveries may be sent long after they were replaced. The number of versions
/// is limited, which bounds the rows read.
enum CountedVersions {
    /// Returns a query for the versions.
    ///
    /// - Parameter rule: the rule's id, as SQL.
    /// - Returns: a query of `id` and `version`, the newest 500.
    static func of(_ rule: String) -> String {
        "SELECT z.id, z.version FROM fanfare.rule_versions AS z WHERE z.rule_id = \(rule) ORDER BY z.version DESC LIMIT 500"
    }
}

/// The count of one outcome of a version on a day.
package struct RuleOutcomesRow: Sendable {
    /// The day, such as `2026-11-26`.
    package let day: String
    package let version: Int32
    package let outcome: String
    package let reason: String
    package let deliveries: Int64
}

extension SQL {
    /// Counts the outcomes of a rule, by day in UTC and version.
    ///
    /// Binds: app, name, days.
    package static let ruleOutcomes = Statement<RuleOutcomesRow, String, String, Int32>(
        "rule_outcomes",
        """
        WITH pending AS MATERIALIZED (
            SELECT p.rule_version, p.outcome, (p.at AT TIME ZONE 'UTC')::date AS day, sum(p.deliveries) AS deliveries
            FROM fanfare.stats_pending AS p GROUP BY 1, 2, 3),
        versions AS MATERIALIZED (
            SELECT v.id, v.version
            FROM fanfare.rules AS r
            JOIN fanfare.apps AS a ON a.id = r.app_id
            CROSS JOIN LATERAL (\(CountedVersions.of("r.id"))) AS v
            WHERE a.name = $1 AND r.name = $2 AND r.dropped_at IS NULL)
        SELECT s.day::text, s.version, coalesce(c.outcome, 'unknown'), coalesce(c.reason, 'unknown'), sum(s.deliveries)::bigint
        FROM (
            SELECT v.version, x.day, x.outcome, x.deliveries FROM versions AS v
            JOIN fanfare.stats AS x ON x.rule_version = v.id AND x.day = ANY (ARRAY(
                SELECT (statement_timestamp() AT TIME ZONE 'UTC')::date - n FROM generate_series(0, $3::int - 1) AS n))
            UNION ALL
            SELECT v.version, p.day, p.outcome, p.deliveries FROM versions AS v JOIN pending AS p ON p.rule_version = v.id
                AND p.day > (statement_timestamp() AT TIME ZONE 'UTC')::date - $3::int) AS s
        LEFT JOIN fanfare.outcome_codes AS c ON c.code = s.outcome
        GROUP BY 1, 2, 3, 4
        ORDER BY 1 DESC, 2 DESC, 5 DESC
        """,
        row: RuleOutcomesRow.init
    )
}
