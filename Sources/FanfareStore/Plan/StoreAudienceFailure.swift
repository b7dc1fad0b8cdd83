package import PostgresClient

extension SQL {
    /// Stores the error of a rule version's `users_sql`, or that it succeeded.
    ///
    /// Binds: ruleVersion, error.
    package static let storeAudienceFailure = Statement<Void, Int32, String?>(
        "store_audience_failure",
        """
        WITH mended AS (DELETE FROM fanfare.audience_failures WHERE rule_version = $1 AND $2::text IS NULL)
        INSERT INTO fanfare.audience_failures (rule_version, error) SELECT $1, left($2, 2000) WHERE $2::text IS NOT NULL
        ON CONFLICT (rule_version) DO UPDATE SET error = excluded.error
        """
    )
}
