internal import PostgresClient

/// Stores what a rule version's `badge_sql` failed with, or that it works.
struct StoreBadgeFailure: PostgresStatement {
    static let name = "store_badge_failure"
    static let sql = """
        WITH mended AS (DELETE FROM fanfare.badge_failures WHERE rule_version = $1 AND $2::text IS NULL)
        INSERT INTO fanfare.badge_failures (rule_version, error) SELECT $1, $2 WHERE $2::text IS NOT NULL
        ON CONFLICT (rule_version) DO UPDATE SET error = excluded.error
        """

    let ruleVersion: Int32
    /// Nil if it works.
    let error: String?

    func bind(to binds: inout PostgresBinds) {
        binds.append(ruleVersion)
        binds.append(error)
    }
}
