package import PostgresClient

extension SQL {
    /// Deletes the grants of users who were granted nothing within any cap's period.
    ///
    /// It reads a random part of the table: a row that is deleted late only takes a little space. Rows locked by a claim
    /// are skipped.
    package static let forgetGrants = Statement<Void>(
        "forget_grants",
        """
        WITH place AS MATERIALIZED (
            SELECT floor(random() * greatest(
                pg_relation_size('fanfare.cap_grants') / current_setting('block_size')::int - \(grantPages - 1), 1))::bigint AS first
        )
        DELETE FROM fanfare.cap_grants WHERE ctid = ANY (ARRAY(
            SELECT g.ctid FROM fanfare.cap_grants AS g
            WHERE g.ctid >= (SELECT format('(%s,0)', first)::tid FROM place)
                AND g.ctid < (SELECT format('(%s,0)', first + \(grantPages))::tid FROM place)
                AND coalesce(g.grants[cardinality(g.grants)] >> 16, 0)
                    < (extract(epoch FROM statement_timestamp() - interval '31 days') * 1000)::bigint
            FOR UPDATE SKIP LOCKED))
        """
    )

    /// The pages read per statement, with some forty rows each.
    private static let grantPages = 500
}
