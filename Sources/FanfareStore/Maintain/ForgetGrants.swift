internal import PostgresClient

/// Forgets users to whom nothing was granted for longer than any cap counts.
///
/// Somewhere in the table, and not all of it: who is forgotten late takes a little room and is not missed. Whom a claim is about to grant
/// something is left alone.
package struct ForgetGrants: PostgresStatement {
    package static let name = "forget_grants"
    /// Pages that are looked at in one statement, of some forty rows each.
    private static let pages = 500
    package static let sql = """
        WITH place AS MATERIALIZED (
            SELECT floor(random() * greatest(
                pg_relation_size('fanfare.cap_grants') / current_setting('block_size')::int - \(pages - 1), 1))::bigint AS first
        )
        DELETE FROM fanfare.cap_grants WHERE ctid = ANY (ARRAY(
            SELECT g.ctid FROM fanfare.cap_grants AS g
            WHERE g.ctid >= (SELECT format('(%s,0)', first)::tid FROM place)
                AND g.ctid < (SELECT format('(%s,0)', first + \(pages))::tid FROM place)
                AND coalesce(g.grants[cardinality(g.grants)] >> 16, 0)
                    < (extract(epoch FROM statement_timestamp() - interval '31 days') * 1000)::bigint
            FOR UPDATE SKIP LOCKED))
        """

    package init() {}
}
