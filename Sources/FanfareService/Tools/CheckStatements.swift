internal import PostgresClient

/// What a daemon's role may not do and has to, as `DELETE on fanfare.outbox`.
struct MissingPrivileges: PostgresStatement {
    static let name = "missing_privileges"
    static let sql = """
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

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> [String] {
        try row.strings(0)
    }
}

/// Settings of the server that matter.
struct ServerSettings: PostgresStatement {
    static let name = "server_settings"
    static let sql = """
        SELECT current_setting('max_connections')::bigint, current_setting('superuser_reserved_connections')::bigint,
            (SELECT sum(numbackends)::bigint FROM pg_stat_database),
            current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean
        """

    static func decode(
        _ row: borrowing PostgresRow
    ) throws(PostgresError) -> (maxConnections: Int64, reserved: Int64, used: Int64, autovacuum: Bool) {
        (try row.int64(0), try row.int64(1), try row.int64(2), try row.bool(3))
    }
}

/// The apps in the database, and what they have there.
struct AppUse: PostgresStatement {
    static let name = "app_use"
    static let sql = """
        SELECT a.name,
            EXISTS (SELECT FROM fanfare.devices AS d WHERE d.app_id = a.id AND d.disabled_at IS NULL),
            EXISTS (SELECT FROM fanfare.rules AS r WHERE r.app_id = a.id AND r.dropped_at IS NULL)
        FROM fanfare.apps AS a
        ORDER BY a.name
        """

    /// One app.
    struct Use {
        let name: String
        let hasDevices: Bool
        let hasRules: Bool

        var hasUse: Bool { hasDevices || hasRules }
    }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Use {
        Use(name: try row.string(0), hasDevices: try row.bool(1), hasRules: try row.bool(2))
    }
}
