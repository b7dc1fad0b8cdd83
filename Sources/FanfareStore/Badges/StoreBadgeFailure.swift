package import PostgresClient

extension SQL {
    /// Stores the error of a rule version's `badge_sql`, or that it succeeded.
    ///
    /// Binds: ruleVersion, error (nil if the query succeeded).
    package static let storeBadgeFailure = Statement<Void, Int32, String?>(
        "store_badge_failure",
        """
        WITH mended AS (DELETE FROM fanfare.badge_failures WHERE rule_version = $1 AND $2::text IS NULL)
        INSERT INTO fanfare.badge_failures (rule_version, error) SELECT $1, left($2, 2000) WHERE $2::text IS NOT NULL
        ON CONFLICT (rule_version) DO UPDATE SET error = excluded.error
        """
    )
}
