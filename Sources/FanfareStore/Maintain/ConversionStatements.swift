package import PostgresClient

/// The limits of a `conversion_sql`.
package enum ConversionQuery {
    /// The most rows that one execution reads.
    package static let rows = 100_000
}

/// A `conversion_sql` that is due.
package struct DueConversions: Sendable {
    package let pathID: Int32
    package let app: String
    package let rule: String
    package let query: String
    /// The earliest time that the query is asked for.
    package let since: Timestamp
}

/// A conversion that a query found.
package struct FoundConversion: Equatable, Sendable {
    /// The hash of the user.
    package let person: Int64
    package let at: Timestamp
    /// The number as text; nil for none.
    package let amount: String?
}

extension SQL {
    /// Reads the `conversion_sql` of the rule whose turn it is; no row if each was executed in the last minute.
    ///
    /// `since` is ten minutes before the query last succeeded, because transactions commit late. For the first execution it is
    /// the time at which the rule was put into force.
    package static let dueConversions = Statement<DueConversions>(
        "due_conversions",
        """
        SELECT p.id, a.name, r.name, v.definition ->> 'conversion_sql',
            greatest(coalesce(p.read_at - interval '10 minutes', p.named_at), now() - interval '30 days')
        FROM fanfare.value_paths AS p
        JOIN fanfare.rules AS r ON 'sql:' || r.id = p.event_type
        JOIN fanfare.rule_versions AS v ON v.rule_id = r.id AND v.state = 'active' AND v.conversion_event = p.event_type
            AND coalesce(v.retired_at > now() - v.conversion_within, true)
        JOIN fanfare.apps AS a ON a.id = r.app_id
        WHERE p.converts AND p.event_type LIKE 'sql:%' AND p.path = '{}' AND coalesce(p.tried_at < now() - interval '1 minute', true)
        ORDER BY p.tried_at NULLS FIRST, v.retired_at IS NOT NULL, v.version DESC LIMIT 1
        """,
        row: DueConversions.init
    )

    /// Stores the conversions that a query found, and when it was executed.
    ///
    /// A conversion that is stored already is skipped.
    ///
    /// Binds: path, persons, times, amounts, when the query was executed.
    package static let storeConversions = Statement<Void, Int32, [Int64], [Timestamp], [String?], Timestamp>(
        "store_conversions",
        """
        WITH read AS (
            -- If the query has more rows, the next execution reads them.
            UPDATE fanfare.value_paths SET read_at = CASE WHEN cardinality($3::timestamptz[]) < \(ConversionQuery.rows) THEN $5
                ELSE least($5, ($3::timestamptz[])[cardinality($3::timestamptz[])] + interval '10 minutes') END
            WHERE id = $1
        ),
        found AS (
            SELECT DISTINCT ON (1, 2) f.person, (extract(epoch FROM f.at) * 1000000)::bigint AS id, f.at, f.amount::numeric
            FROM unnest($2::bigint[], $3::timestamptz[], $4::text[]) AS f (person, at, amount) ORDER BY 1, 2
        ),
        stored AS (
            -- A row of a query has no event id. Its time in microseconds is stored instead.
            INSERT INTO fanfare.event_values (path_id, value, event_id, created_at)
            SELECT $1, f.person, f.id, f.at FROM found AS f
            ON CONFLICT DO NOTHING RETURNING value, event_id
        )
        INSERT INTO fanfare.conversions_pending (path_id, person, event_id, created_at, amount)
        SELECT $1, f.person, f.id, f.at, f.amount FROM found AS f JOIN stored AS s ON s.value = f.person AND s.event_id = f.id
        ON CONFLICT DO NOTHING
        """
    )

    /// Stores when a `conversion_sql` was executed, and raises or ends the alarm about it.
    ///
    /// Binds: path, when the query was executed, the alarm's name, the error (nil for none).
    package static let noteConversions = Statement<Void, Int32, Timestamp, String, String?>(
        "note_conversions",
        """
        WITH tried AS (
            UPDATE fanfare.value_paths SET tried_at = $2 WHERE id = $1
        ),
        ended AS (
            DELETE FROM fanfare.alarms WHERE name = $3 AND $4::text IS NULL
        )
        INSERT INTO fanfare.alarms (name, detail) SELECT $3, left($4::text, 2000) WHERE $4::text IS NOT NULL
        ON CONFLICT (name) DO UPDATE SET detail = excluded.detail
        """
    )
}

extension PostgresConnection {
    /// Runs a rule's `conversion_sql` through `fanfare.conversions_by_sql`, read-only and with a timeout.
    ///
    /// - Parameters:
    ///   - due: the query.
    ///   - milliseconds: its timeout.
    /// - Returns: the conversions, in a transaction that the caller must roll back.
    /// - Throws: the query's error; the caller must roll back then, too.
    package func conversions(_ due: DueConversions, within milliseconds: Int) throws(PostgresError) -> [FoundConversion]
    {
        try execute("BEGIN READ ONLY; SET LOCAL statement_timeout = \(milliseconds)")
        let table = try query(
            """
            SELECT person, (extract(epoch FROM at) * 1000000)::bigint, amount
            FROM fanfare.conversions_by_sql($1, 'epoch'::timestamptz + $2::bigint * interval '1 microsecond')
            WHERE isfinite(at)
            """,
            due.query,
            "\(due.since.microseconds)"
        )
        return table.rows.compactMap { row in
            guard let person = row[0].flatMap({ Int64($0) }), let at = row[1].flatMap({ Int64($0) }) else { return nil }
            return FoundConversion(person: person, at: Timestamp(microseconds: at), amount: row[2])
        }
    }
}
