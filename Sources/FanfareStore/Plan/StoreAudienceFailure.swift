package import PostgresClient

/// Stores the error of a rule version's `users_sql`, or that it succeeded.
package struct StoreAudienceFailure: PostgresStatement {
    package static let name = "store_audience_failure"
    package static let sql = """
        WITH mended AS (DELETE FROM fanfare.audience_failures WHERE rule_version = $1 AND $2::text IS NULL)
        INSERT INTO fanfare.audience_failures (rule_version, error) SELECT $1, left($2, 2000) WHERE $2::text IS NOT NULL
        ON CONFLICT (rule_version) DO UPDATE SET error = excluded.error
        """

    package let ruleVersion: Int32
    /// The error; nil if the query succeeded.
    package let error: String?

    package init(ruleVersion: Int32, error: String?) {
        (self.ruleVersion, self.error) = (ruleVersion, error)
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(ruleVersion)
        binds.append(error)
    }
}
