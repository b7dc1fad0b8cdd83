package import PostgresClient

/// A limit on sessions.
package struct SessionLimit {
    /// The role or database that the limit applies to; nil for the server.
    package let holder: String?
    /// The allowed number; nil for no limit.
    package let allowed: Int64?
    /// The number in use without this session.
    package let used: Int64
}

/// One app's use.
package struct AppUse {
    package let name: String
    /// The providers with at least one enabled device.
    package let providers: [String]
    package let rules: [String]
}

extension SQL {
    /// Reads the privileges that the daemon's role lacks, as `DELETE on fanfare.outbox`.
    package static let missingPrivileges = Statement<[String]>(
        "missing_privileges",
        """
        SELECT ARRAY(
            SELECT 'USAGE on schema fanfare' WHERE NOT has_schema_privilege('fanfare', 'USAGE')
            UNION ALL
            -- CASE, because a filter may run after the function, which refuses what is no table or no sequence.
            SELECT wanted.privilege || ' on fanfare.' || c.relname
            FROM pg_class AS c
            CROSS JOIN unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,USAGE}'::text[]) AS wanted (privilege)
            WHERE c.relnamespace = 'fanfare'::regnamespace AND NOT CASE
                WHEN c.relkind = 'S' THEN wanted.privilege <> 'USAGE' OR has_sequence_privilege(c.oid, 'USAGE')
                WHEN c.relkind NOT IN ('r', 'p') OR wanted.privilege = 'USAGE' THEN true
                WHEN c.relispartition THEN wanted.privilege <> 'TRUNCATE' OR has_table_privilege(c.oid, 'TRUNCATE')
                ELSE wanted.privilege = 'TRUNCATE' OR has_table_privilege(c.oid, wanted.privilege) END
            UNION ALL
            SELECT 'EXECUTE on fanfare.' || p.proname
            FROM pg_proc AS p
            WHERE p.pronamespace = 'fanfare'::regnamespace AND p.proname IN ('emit', 'wake', 'new_event_id', 'new_batch_id', 'ring_day')
                AND NOT has_function_privilege(p.oid, 'EXECUTE')
        )
        """
    )

    /// Whether autovacuum is enabled on the server, without which tables grow for ever.
    package static let hasAutovacuum = Statement<Bool>(
        "has_autovacuum",
        "SELECT current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean"
    )

    /// Reads the current time zones that this server knows by no name; one row.
    package static let unknownTimeZones = Statement<[String]>(
        "unknown_time_zones",
        """
        SELECT coalesce(array_agg(z.name ORDER BY z.name), '{}') FROM (
            SELECT DISTINCT o.value FROM jsonb_each_text(fanfare.old_time_zones()) AS o
        ) AS z (name)
        WHERE fanfare.time_zone(z.name) IS NULL
        """
    )

    /// Reads the server's limits for authors' SQL; no row if no rule or campaign has a query.
    package static let authorsLimits = Statement<(hasFileLimit: Bool, mayWriteWAL: Bool)>(
        "authors_limits",
        """
        SELECT current_setting('temp_file_limit') <> '-1',
            EXISTS (
                SELECT FROM pg_proc AS p WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.proname = 'pg_logical_emit_message'
                    AND has_function_privilege('fanfare_sql', p.oid, 'EXECUTE'))
        WHERE EXISTS (
                SELECT FROM fanfare.rule_versions AS v
                WHERE v.retired_at IS NULL AND (v.definition -> 'badge_sql' IS NOT NULL OR v.definition -> 'conversion_sql' IS NOT NULL OR v.definition #> '{to,users_sql}' IS NOT NULL))
            OR EXISTS (
                SELECT FROM fanfare.campaigns AS c CROSS JOIN LATERAL (SELECT coalesce(c.draft, c.definition)) AS d (definition)
                WHERE c.dropped_at IS NULL AND (d.definition -> 'audience_sql' IS NOT NULL OR d.definition -> 'payload_sql' IS NOT NULL))
        """,
        row: { ($0, $1) }
    )

    /// Reads the limits on sessions and their use without this session: of the server, of the role and of the database.
    package static let sessionLimits = Statement<SessionLimit>(
        "session_limits",
        """
        SELECT NULL::text,
            current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint
                -- Since PostgreSQL 16.
                - coalesce(current_setting('reserved_connections', true)::bigint, 0),
            (SELECT sum(s.numbackends)::bigint - 1 FROM pg_stat_database AS s)
        UNION ALL
        -- Superusers are not bound by the other two, and a negative limit is none.
        SELECT 'role ' || quote_ident(r.rolname), CASE WHEN r.rolconnlimit >= 0 AND NOT r.rolsuper THEN r.rolconnlimit::bigint END,
            (SELECT count(*) - 1 FROM pg_stat_activity AS s WHERE s.usesysid = r.oid)
        FROM pg_roles AS r WHERE r.rolname = session_user
        UNION ALL
        SELECT 'database ' || quote_ident(d.datname), CASE WHEN d.datconnlimit >= 0 AND NOT r.rolsuper THEN d.datconnlimit::bigint END,
            (SELECT s.numbackends::bigint - 1 FROM pg_stat_database AS s WHERE s.datid = d.oid)
        FROM pg_database AS d JOIN pg_roles AS r ON r.rolname = session_user WHERE d.datname = current_database()
        """,
        row: SessionLimit.init
    )

    /// Reads the apps in the database, with their providers in use.
    package static let appUse = Statement<AppUse>(
        "app_use",
        """
        SELECT a.name,
            ARRAY(
                SELECT DISTINCT t.provider FROM fanfare.targets AS t WHERE t.app_id = a.id AND EXISTS (
                    SELECT FROM fanfare.devices AS d
                    WHERE d.app_id = a.id AND d.provider = t.provider AND d.disabled_reason IS DISTINCT FROM 'reassigned'
                        AND d.disabled_at IS NULL)
                ORDER BY 1),
            ARRAY(SELECT r.name FROM fanfare.rules AS r
                WHERE r.app_id = a.id AND r.dropped_at IS NULL AND r.name NOT LIKE ALL ('{gather/%,send/%}') ORDER BY r.name)
        FROM fanfare.apps AS a
        ORDER BY a.name
        """,
        row: AppUse.init
    )
}
