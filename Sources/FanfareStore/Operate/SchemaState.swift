package import PostgresClient

/// Whether the schema was loaded from a given text.
package struct IsLoadedFrom: PostgresStatement {
    package static let name = "is_loaded_from"
    package static let sql = """
        SELECT text_hash = encode(sha256(convert_to($1, 'UTF8')), 'hex') FROM fanfare.schema_version
        """

    package let text: String

    package init(_ text: String) {
        self.text = text
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(text)
    }

    /// - Returns: nil if the text was sent statement by statement, as by psql -f, so that the server could not hash it.
    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Bool? {
        try row.bool(orNil: 0)
    }
}

/// Reads the database's encoding.
package struct ServerEncoding: PostgresStatement {
    package static let name = "server_encoding"
    package static let sql = "SELECT current_setting('server_encoding')"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}

/// Reads the publications that include tables of the schema `fanfare`.
package struct Publications: PostgresStatement {
    package static let name = "publications"
    package static let sql = """
        SELECT DISTINCT p.pubname::text FROM pg_publication_tables AS p WHERE p.schemaname = 'fanfare' ORDER BY 1
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}

/// Reads which queries in force have rows hidden from them by row-level security.
package struct HiddenTables: PostgresStatement {
    package static let name = "hidden_tables"
    package static let sql = """
        SELECT q.place, t.name
        FROM (
            SELECT 'rule ' || a.name || '/' || r.name || ': ' || k.place AS place, k.query, k.parameter
            FROM fanfare.rule_versions AS v
            JOIN fanfare.rules AS r ON r.id = v.rule_id AND r.dropped_at IS NULL
            JOIN fanfare.apps AS a ON a.id = r.app_id
            CROSS JOIN LATERAL (VALUES ('badge_sql', v.definition ->> 'badge_sql', 'text[]'::regtype),
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
        """

    package init() {}

    /// - Returns: the place of a query, and a table that hides rows from it.
    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (place: String, table: String) {
        (place: try row.string(0), table: try row.string(1))
    }
}
