internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Stores events whose recipients their rule's `users_sql` must determine.
    ///
    /// Binds: eventIDs, ruleVersions.
    package static let openQueries = Statement<Void, [Int64], [Int32]>(
        "open_queries",
        """
        INSERT INTO fanfare.audience_queries (event_id, rule_version)
        SELECT q.event_id, q.rule_version FROM unnest($1::bigint[], $2::int[]) AS q (event_id, rule_version)
        """
    )
}

/// The rules with waiting events that a session takes.
package struct QueryChoice: Equatable, PostgresBind {
    /// The versions to take, or to leave.
    package var ruleVersions: [Int32]
    /// Whether it takes only these versions, or all others.
    package var areTaken: Bool

    package init(ruleVersions: [Int32], areTaken: Bool) {
        (self.ruleVersions, self.areTaken) = (ruleVersions, areTaken)
    }

    /// The CTE `waiting` of the rule versions with waiting events: one index step per version, however many events each
    /// has.
    static let waitingSQL = """
        waiting AS (
            (SELECT q.rule_version FROM fanfare.audience_queries AS q ORDER BY q.rule_version LIMIT 1)
            UNION ALL
            SELECT next.rule_version FROM waiting AS w CROSS JOIN LATERAL (
                SELECT q.rule_version FROM fanfare.audience_queries AS q WHERE q.rule_version > w.rule_version
                ORDER BY q.rule_version LIMIT 1
            ) AS next
        )
        """

    /// The CTE `chosen` of the versions that are taken; the choice is `$1` and `$2`.
    fileprivate static let sql = """
        RECURSIVE \(waitingSQL),
        chosen AS (
            SELECT w.rule_version FROM waiting AS w WHERE (w.rule_version = ANY ($1::int[])) = $2::boolean
        )
        """

    package func append(to binds: inout PostgresBinds) {
        binds.append(ruleVersions)
        binds.append(areTaken)
    }
}

/// An event whose rule's query must be run, locked by this session until its transaction ends.
package struct AudienceQuestion: Equatable, Sendable {
    package let eventID: Int64
    package let ruleVersion: Int32
    /// How often the query has failed for this event.
    package let tries: Int16
    package let payload: String
    package let isCancelled: Bool
    /// Whether its deadline is still in the future.
    package let isLive: Bool
    /// The id of its trace; nil if it has none.
    package var traceID: String? = nil
}

extension SQL {
    /// Locks the next event in turn: of the rule after the last one, and then from the start.
    ///
    /// A rule has one turn for each of its events, so a rule with many events, or with a slow query, delays those of other
    /// rules by at most one query.
    ///
    /// Binds: choice, the rule version of the last turn.
    package static let lockQuestion = Statement<AudienceQuestion, QueryChoice, Int32>(
        "lock_question",
        """
        WITH \(QueryChoice.sql)
        SELECT q.event_id, q.rule_version, q.tries, coalesce(e.payload::text, '{}'),
            EXISTS (
                SELECT FROM fanfare.cancels AS x
                WHERE x.event_id = q.event_id OR (x.type = e.type AND x.key = e.key
                    AND NOT fanfare.is_emitted_after(e.id, x.event_number)))
            OR e.id IS NULL,
            coalesce(e.created_at + least(greatest(coalesce(least(e.ttl, v.ttl), interval '24 hours'), interval '0'),
                interval '10 years') > statement_timestamp(), false),
            \(traceIDSQL(of: "e.trace"))
        FROM (
            SELECT t.* FROM (SELECT c.rule_version FROM chosen AS c ORDER BY c.rule_version <= $3, c.rule_version OFFSET 0) AS r
            CROSS JOIN LATERAL (
                SELECT x.event_id, x.rule_version, x.tries FROM fanfare.audience_queries AS x
                WHERE x.rule_version = r.rule_version AND x.not_before <= statement_timestamp()
                ORDER BY x.not_before, x.event_id LIMIT 1 FOR UPDATE SKIP LOCKED
            ) AS t
            LIMIT 1
        ) AS q
        JOIN fanfare.rule_versions AS v ON v.id = q.rule_version
        LEFT JOIN fanfare.event_log AS e ON e.day = fanfare.ring_day(q.event_id) AND e.id = q.event_id
        """,
        row: AudienceQuestion.init
    )

    /// Reads the microseconds until the first of the events is due, locked or not; no row if none waits.
    ///
    /// Binds: choice.
    package static let nextQuestion = Statement<Int64, QueryChoice>(
        "next_question",
        """
        WITH \(QueryChoice.sql)
        SELECT (extract(epoch FROM min(t.not_before) - clock_timestamp()) * 1000000)::bigint
        FROM chosen AS c CROSS JOIN LATERAL (
            SELECT x.not_before FROM fanfare.audience_queries AS x WHERE x.rule_version = c.rule_version
            ORDER BY x.not_before LIMIT 1
        ) AS t
        HAVING count(*) > 0
        """
    )

    /// Whether an event that waits for a rule's query is due.
    package static let areQuestionsDue = Statement<Bool>(
        "are_questions_due",
        """
        SELECT EXISTS (SELECT FROM fanfare.audience_queries WHERE not_before <= statement_timestamp() OFFSET 0)
        """
    )

    /// Plans an event for the users that its rule's query returned, and deletes the row of ``SQL/openQueries``.
    ///
    /// Binds: question eventID, question ruleVersion, users, batchSize.
    package static let planUsers = Statement<PlannedCounts, Int64, Int32, String, Int32>(
        "plan_users",
        """
        WITH
        answered AS (
            DELETE FROM fanfare.audience_queries WHERE event_id = $1 AND rule_version = $2 RETURNING event_id, rule_version
        ),
        asked AS MATERIALIZED (
            SELECT a.event_id, v.id AS rule_version, v.app_id, v.lane, v.kind, v.provider, v.devices_path, v.permissions, v.presents,
                \(gateSQL(of: "v", event: "a.event_id")) AS gate_id
            FROM answered AS a JOIN fanfare.rule_versions AS v ON v.id = a.rule_version
        ),
        deliveries AS MATERIALIZED (
            SELECT a.rule_version, a.lane, a.event_id, d.target_id, d.id AS device_id, a.gate_id
            FROM asked AS a
            CROSS JOIN (
                SELECT x.user_id FROM unnest(($3::text)::text[]) AS x (user_id)
                WHERE coalesce(x.user_id = (SELECT e.only_user FROM fanfare.event_log AS e WHERE e.day = fanfare.ring_day($1) AND e.id = $1), true)
            ) AS u
            CROSS JOIN LATERAL (
                SELECT x.id, x.target_id, x.attributes, x.provider, x.kind, x.disabled_at, x.permission, x.presents FROM fanfare.devices AS x
                WHERE x.app_id = a.app_id AND x.user_id = u.user_id
                OFFSET 0
            ) AS d
            WHERE d.disabled_at IS NULL AND d.kind = a.kind AND (a.provider IS NULL OR d.provider = a.provider)
                AND (a.devices_path IS NULL
                    OR jsonb_path_match_tz(coalesce(d.attributes, '{}'), a.devices_path, '{}', true))
                AND \(PermissionSQL.passes("a"))
        ),
        \(queueDeliveriesSQL(batchSize: "(SELECT \(QueueSQL.batchSize("$4::int", gate: "a.gate_id")) FROM asked AS a)"))
        SELECT count(*)::int FROM queued
        """
    ) { row throws(PostgresError) in
        PlannedCounts(batches: Int(try row.int32(0)))
    }

    /// Defers an event until its rule's query is run again.
    ///
    /// Binds: question eventID, question ruleVersion, pauseMicroseconds, tries.
    package static let askLater = Statement<Void, Int64, Int32, Int64, Int16>(
        "ask_later",
        """
        UPDATE fanfare.audience_queries SET not_before = clock_timestamp() + $3 * interval '1 microsecond', tries = $4
        WHERE event_id = $1 AND rule_version = $2
        """
    )

    /// Ends the row of ``SQL/openQueries`` without a batch, and records the problem with the event.
    ///
    /// As in ``SQL/notePlanProblem``, the event was planned for other rules before. If there are several fates, the event keeps
    /// the worst.
    ///
    /// Binds: question eventID, question ruleVersion, fate rawValue, detail.
    package static let endQuestion = Statement<Void, Int64, Int32, Int16, String?>(
        "end_question",
        """
        WITH ended AS (
            DELETE FROM fanfare.audience_queries WHERE event_id = $1 AND rule_version = $2 RETURNING event_id
        )
        UPDATE fanfare.event_log SET fate = greatest(fate, $3::smallint), detail = left(concat_ws('; ', detail, $4::text), 2000)
        WHERE day = fanfare.ring_day($1) AND id = $1 AND EXISTS (SELECT FROM ended)
        """
    )
}
