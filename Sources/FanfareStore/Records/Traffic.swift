package import PostgresClient

/// The kinds of counts in `fanfare.traffic`.
package enum TrafficKind: String, Sendable, CaseIterable {
    /// The codes are those of outcomes.
    case outcome
    /// The codes are the numbers of fates.
    case fate
    /// The codes are the numbers of latency steps.
    case latency
}

/// The count of one outcome and reason in one step.
package struct OutcomesOverTimeRow: Sendable {
    /// When the step begins.
    package let at: Timestamp
    package let outcome: String
    package let reason: String
    package let deliveries: Int64
}

extension SQL {
    /// Counts deliveries by outcome and reason over time.
    ///
    /// Counters that are not merged yet are included. Steps shorter than the stored resolution leave gaps: minutes are kept
    /// for six hours, ten minutes for two days.
    ///
    /// Binds: since, stepSeconds, app.
    package static let outcomesOverTime = Statement<OutcomesOverTimeRow, Timestamp, Int32, String?>(
        "outcomes_over_time",
        """
        SELECT date_bin($2::int * interval '1 second', s.since, 'epoch') AS at, coalesce(c.outcome, 'unknown'), coalesce(c.reason, 'unknown'),
            sum(s.count)::bigint
        FROM (
            SELECT t.since, t.code, sum(t.count) AS count FROM fanfare.traffic AS t
            WHERE t.what = 'outcome' AND t.since >= $1 AND \(TrafficApp.filter(3))
            GROUP BY t.since, t.code
            UNION ALL
            SELECT date_bin('1 minute', t.at, 'epoch'), t.outcome, sum(t.deliveries) FROM fanfare.stats_pending AS t
            WHERE t.at >= $1 AND \(TrafficApp.filter(3))
            GROUP BY 1, 2
        ) AS s
        LEFT JOIN fanfare.outcome_codes AS c ON c.code = s.code
        GROUP BY 1, 2, 3
        ORDER BY 1, 2, 3
        """,
        row: OutcomesOverTimeRow.init
    )
}

/// The count of one code in one step.
package struct CountsOverTimeRow: Sendable {
    /// When the step begins.
    package let at: Timestamp
    package let lane: Int16
    package let code: Int16
    package let count: Int64
}

extension SQL {
    /// Reads the counts of one kind over time, by lane and code.
    ///
    /// Binds: kind rawValue, since, stepSeconds, app.
    package static let countsOverTime = Statement<CountsOverTimeRow, String, Timestamp, Int32, String?>(
        "counts_over_time",
        """
        SELECT date_bin($3::int * interval '1 second', t.since, 'epoch') AS at, t.lane, t.code, sum(t.count)::bigint
        FROM fanfare.traffic AS t
        WHERE t.what = $1 AND t.since >= $2 AND \(TrafficApp.filter(4))
        GROUP BY 1, 2, 3
        ORDER BY 1, 2, 3
        """,
        row: CountsOverTimeRow.init
    )
}

/// The count of one reason.
package struct AnswersByReasonRow: Sendable {
    package let app: String
    package let provider: String
    package let environment: String
    package let outcome: String
    package let reason: String
    package let deliveries: Int64
    /// The start of the last step with it, or a time within the last minutes.
    package let lastAt: Timestamp
}

extension SQL {
    /// Counts the responses of providers since a time, and the other outcomes of deliveries, by target and reason.
    ///
    /// Binds: since, app.
    package static let answersByReason = Statement<AnswersByReasonRow, Timestamp, String?>(
        "answers_by_reason",
        """
        SELECT a.name, t.provider, t.environment, coalesce(c.outcome, 'unknown'), coalesce(c.reason, 'unknown'), s.count, s.last_at
        FROM (
            SELECT x.target_id, x.code, sum(x.count)::bigint AS count, max(x.last_at) AS last_at
            FROM (
                SELECT t.target_id, t.code, sum(t.count) AS count, max(t.since) AS last_at FROM fanfare.traffic AS t
                WHERE t.what = 'outcome' AND t.since >= $1 AND \(TrafficApp.filter(2))
                GROUP BY 1, 2
                UNION ALL
                SELECT t.target_id, t.outcome, sum(t.deliveries), max(t.at) FROM fanfare.stats_pending AS t
                WHERE t.at >= $1 AND \(TrafficApp.filter(2))
                GROUP BY 1, 2
            ) AS x
            GROUP BY 1, 2
        ) AS s
        JOIN fanfare.targets AS t ON t.id = s.target_id
        JOIN fanfare.apps AS a ON a.id = t.app_id
        LEFT JOIN fanfare.outcome_codes AS c ON c.code = s.code
        ORDER BY a.name, t.provider, t.environment, s.count DESC
        """,
        row: AnswersByReasonRow.init
    )
}

/// The app of a row `t`.
private enum TrafficApp {
    static func filter(_ number: Int) -> String {
        """
        ($\(number)::text IS NULL OR t.target_id = ANY (ARRAY(
                SELECT x.id FROM fanfare.targets AS x JOIN fanfare.apps AS y ON y.id = x.app_id WHERE y.name = $\(number))))
        """
    }
}
