package import PostgresClient

/// A run whose campaign has a query, which a daemon executes.
package struct QueryRun: Sendable {
    /// The query of a campaign.
    package enum Query: Sendable, Equatable {
        /// A user in each row, optionally with a JSON object.
        case audience(String)
        /// An event's payload in each row.
        case payloads(String)
    }

    package let id: Int64
    package let app: String
    package let campaign: String
    /// The query; nil if the campaign no longer has one.
    package let query: Query?
    /// The only users of a test run; nil for a regular run.
    package let testUsers: [String]?
    /// The id for its event: a new one, except for test runs.
    package let eventID: Int64
}

extension SQL {
    /// Takes the run that has waited longest for its query to be executed, if there is one.
    ///
    /// It is committed before the query runs, so that other sessions do not wait for the row of the run or its campaign
    /// meanwhile.
    ///
    /// Binds: owner.
    package static let takeQueryRun = Statement<QueryRun, Int32>(
        "take_query_run",
        """
        UPDATE fanfare.runs AS o SET owner = $1
        FROM fanfare.campaigns AS c, fanfare.apps AS a
        WHERE o.id = (
                SELECT x.id FROM fanfare.runs AS x
                WHERE x.state = 'querying' AND \(QueryRunSQL.isFree("x", for: "$1"))
                ORDER BY x.fired_at LIMIT 1 FOR UPDATE SKIP LOCKED)
            AND o.state = 'querying' AND c.id = o.campaign_id AND a.id = c.app_id
        RETURNING o.id, a.name, c.name, c.definition ->> 'audience_sql', c.definition ->> 'payload_sql', o.test_users,
            coalesce(o.event_id, fanfare.new_event_id())
        """
    ) { row throws(PostgresError) in
        let payloads = try row.string(orNil: 4)
        return QueryRun(
            id: try row.int64(0),
            app: try row.string(1),
            campaign: try row.string(2),
            query: try row.string(orNil: 3).map(QueryRun.Query.audience) ?? payloads.map(QueryRun.Query.payloads),
            testUsers: try row.read(5),
            eventID: try row.int64(6)
        )
    }
}

/// A run whose query is being executed, or waits for it.
package struct QueryRunState {
    package let id: Int64
    /// The daemon that executes it; nil if none does yet.
    package let owner: Int32?
    /// Whether any daemon may take it.
    package let isFree: Bool
}

extension SQL {
    /// Reads the runs whose query is being executed, or waits for it.
    ///
    /// Binds: owner.
    package static let queryRuns = Statement<QueryRunState, Int32>(
        "query_runs",
        """
        SELECT o.id, o.owner, \(QueryRunSQL.isFree("o", for: "$1"))
        FROM (SELECT * FROM fanfare.runs WHERE state = 'querying' OFFSET 0) AS o
        """,
        row: QueryRunState.init
    )
}

private enum QueryRunSQL {
    /// Whether a daemon may take a run: no other live daemon owns it, and its next try is due.
    static func isFree(_ run: String, for owner: String) -> String {
        """
        (coalesce(\(run).read_at <= clock_timestamp(), true) AND (\(run).owner IS NULL OR \(run).owner = \(owner)
            OR NOT EXISTS (SELECT FROM fanfare.instances AS i WHERE i.id = \(run).owner)))
        """
    }
}

extension SQL {
    /// Stores users of an event's audience.
    ///
    /// Binds: eventID, buckets, users, variables.
    package static let storeAudience = Statement<Void, Int64, [Int64], [String], [String?]>(
        "store_audience",
        """
        INSERT INTO fanfare.audiences (event_id, bucket, user_id, variables)
        SELECT $1, u.bucket, u.user_id, u.variables::jsonb
        FROM unnest($2::bigint[], $3::text[], $4::text[]) AS u (bucket, user_id, variables)
        """
    )

    /// Emits a run's event for each payload.
    ///
    /// Binds: run, offset, payloads.
    package static let emitPayloads = Statement<Void, Int64, Int64, [String]>(
        "emit_payloads",
        """
        INSERT INTO fanfare.outbox (own, type, key, payload)
        SELECT true, 'campaign.' || a.name || '.' || c.name, (to_json(o.scheduled_at) #>> '{}') || '/' || ($2 + p.number),
            coalesce(c.definition::jsonb -> 'payload', '{}') || coalesce(o.payload, '{}') || p.payload::jsonb
                || jsonb_build_object('campaign', c.name, 'scheduled_at', o.scheduled_at)
        FROM fanfare.runs AS o
        JOIN fanfare.campaigns AS c ON c.id = o.campaign_id
        JOIN fanfare.apps AS a ON a.id = c.app_id
        CROSS JOIN unnest($3::text[]) WITH ORDINALITY AS p (payload, number)
        WHERE o.id = $1
        """
    )

    /// Ends a query run: the last statement of its transaction.
    ///
    /// Returns false if the daemon no longer owns the run.
    ///
    /// Binds: run, owner, eventID, sample.
    package static let endQueryRun = Statement<Bool, Int64, Int32, Int64?, String?>(
        "end_query_run",
        "SELECT fanfare.end_query_run($1, $2, $3, $4::jsonb)"
    )

    /// Records why a query was not executed: the run has failed, or may be tried again while its campaign's ttl lasts.
    ///
    /// Returns whether the run has failed for good; no row if the daemon no longer owns it.
    ///
    /// Binds: run, owner, detail, microseconds until the next try (nil for never).
    package static let failQueryRun = Statement<Bool, Int64, Int32, String, Int64?>(
        "fail_query_run",
        """
        WITH noted AS (
            UPDATE fanfare.runs AS o
            SET owner = NULL, detail = left($3, 2000), read_at = clock_timestamp() + $4 * interval '1 microsecond',
                state = CASE WHEN t.is_over THEN 'failed' ELSE o.state END, ended_at = CASE WHEN t.is_over THEN clock_timestamp() END
            FROM (
                SELECT $4::bigint IS NULL OR clock_timestamp() + $4 * interval '1 microsecond' >= x.fired_at + coalesce((
                    SELECT max(v.ttl) FROM fanfare.campaigns AS c JOIN fanfare.rule_versions AS v ON v.rule_id = c.rule_id
                    WHERE c.id = x.campaign_id AND v.state = 'active' AND v.retired_at IS NULL), interval '24 hours') AS is_over
                FROM fanfare.runs AS x WHERE x.id = $1
            ) AS t
            WHERE o.id = $1 AND o.state = 'querying' AND o.owner = $2
            RETURNING o.id, t.is_over
        ),
        closed AS (
            UPDATE fanfare.gates AS g SET state = 'done', ended_at = clock_timestamp(), is_paused = false
            FROM noted AS n WHERE n.is_over AND g.run_id = n.id AND g.state <> 'done'
        )
        SELECT is_over FROM noted
        """
    )
}
