package import PostgresClient

extension SQL {
    /// Whether the schema was loaded from a given text.
    ///
    /// Binds: text.
    package static let isLoadedFrom = Statement<Bool?, String>(
        "is_loaded_from",
        """
        SELECT text_hash = encode(sha256(convert_to($1, 'UTF8')), 'hex') FROM fanfare.schema_version
        """
    )

    /// Reads the database's encoding.
    package static let serverEncoding = Statement<String>(
        "server_encoding",
        "SELECT current_setting('server_encoding')"
    )

    /// Reads the publications that include tables of the schema `fanfare`.
    package static let publications = Statement<String>(
        "publications",
        """
        SELECT DISTINCT p.pubname::text FROM pg_publication_tables AS p WHERE p.schemaname = 'fanfare' ORDER BY 1
        """
    )

    /// Reads which queries in force have rows hidden from them by row-level security.
    package static let hiddenTables = Statement<(place: String, table: String)>(
        "hidden_tables",
        """
        SELECT q.place, t.name
        FROM (
            SELECT 'rule ' || a.name || '/' || r.name || ': ' || k.place AS place, k.query, k.parameter
            FROM fanfare.rule_versions AS v
            JOIN fanfare.rules AS r ON r.id = v.rule_id AND r.dropped_at IS NULL
            JOIN fanfare.apps AS a ON a.id = r.app_id
            CROSS JOIN LATERAL (VALUES ('badge_sql', v.definition ->> 'badge_sql', 'text[]'::regtype),
                ('conversion_sql', v.definition ->> 'conversion_sql', 'timestamptz'),
                ('to.users_sql', v.definition #>> '{to,users_sql}', 'jsonb')) AS k (place, query, parameter)
            WHERE v.state = 'active' AND v.retired_at IS NULL
            UNION ALL
            SELECT 'campaign ' || a.name || '/' || c.name || ': ' || k.place, c.definition ->> k.place, 'text[]'
            FROM fanfare.campaigns AS c JOIN fanfare.apps AS a ON a.id = c.app_id
            CROSS JOIN (VALUES ('audience_sql'), ('payload_sql')) AS k (place)
            WHERE c.dropped_at IS NULL
        ) AS q
        CROSS JOIN LATERAL unnest(fanfare.hidden_tables(q.query, q.parameter)) AS t (name)
        ORDER BY q.place, t.name
        """,
        row: { ($0, $1) }
    )
}
