package import PostgresClient

/// What a daemon sees in one look at the database.
package struct Sight {
    /// Whether ``NewCancels`` has any.
    package let hasCancels: Bool
    /// Whether ``SQL/newPreferences`` has any.
    package let hasPreferences: Bool
    /// A hash of gates, rates, quiet hours, the key of reports and prune fuses.
    package let orders: Int64
    /// Whether ``OtherInstances`` has any.
    package let hasOthers: Bool
    /// Whether there are large audiences to expand.
    package let hasPlans: Bool
    /// Whether the maintenance leader has more to do than chores: definitions to check, runs, events or reports that
    /// wait.
    package let hasUpkeep: Bool
    /// Whether a campaign, digest, scheduled event or retraction is due within a second, or a campaign's query waits or
    /// runs.
    package let hasSchedule: Bool
}

extension SQL {
    /// Reads in one snapshot whether orders changed and which stages have work.
    ///
    /// Binds: the snapshots of the last cancellations and preferences, the owner.
    package static let lookAround = Statement<Sight, String, String, Int32>(
        "look_around",
        """
        SELECT
            EXISTS (SELECT FROM fanfare.cancels AS c WHERE \(isNewSQL("c.xid", since: "$1"))),
            EXISTS (SELECT FROM fanfare.preferences AS p WHERE \(isNewSQL("p.xid", since: "$2"))),
            hashtextextended(concat_ws('/', \([LiveGates.sql, liveRates.sql, liveQuiet.sql, liveReports.sql, storedFuses.sql].map { board in
                "(SELECT string_agg(x::text, ',') FROM (\(board)) AS x)"
            }.joined(separator: ", "))), 0),
            EXISTS (SELECT FROM fanfare.instances WHERE id <> $3)
                OR EXISTS (SELECT FROM fanfare.batches AS b WHERE b.owner <> $3),
            EXISTS (SELECT FROM fanfare.plans),
            EXISTS (SELECT FROM fanfare.rule_versions WHERE state = 'unchecked')
                OR EXISTS (SELECT FROM fanfare.campaigns WHERE draft IS NOT NULL AND reason IS NULL AND dropped_at IS NULL)
                OR EXISTS (SELECT FROM fanfare.runs WHERE state IN ('running', 'aborting'))
                OR EXISTS (SELECT FROM fanfare.quarantine)
                OR EXISTS (SELECT FROM fanfare.reports_pending)
                OR EXISTS (SELECT FROM fanfare.conversions_pending AS c WHERE c.due_at <= statement_timestamp())
                OR EXISTS (SELECT FROM fanfare.audience_queries WHERE not_before <= statement_timestamp()),
            EXISTS (SELECT FROM fanfare.runs WHERE state = 'querying')
                OR EXISTS (
                    SELECT FROM fanfare.campaigns
                    WHERE state = 'active' AND dropped_at IS NULL AND next_at <= statement_timestamp() + interval '1 second')
                OR EXISTS (SELECT FROM fanfare.open_digests WHERE due_at <= statement_timestamp() + interval '1 second')
                OR EXISTS (SELECT FROM fanfare.scheduled WHERE at <= statement_timestamp() + interval '1 second')
                OR EXISTS (SELECT FROM fanfare.retractions WHERE due_at <= statement_timestamp() + interval '1 second')
                OR EXISTS (SELECT FROM fanfare.retracted_devices WHERE due_at <= statement_timestamp() + interval '1 second')
                OR EXISTS (SELECT FROM fanfare.value_retractions WHERE due_at <= statement_timestamp() + interval '1 second')
        FROM (SELECT pg_current_snapshot() AS at) AS look
        """,
        row: Sight.init
    )

    /// A condition that holds for transactions that became visible between two snapshots, `since` and `look.at`.
    static func isNewSQL(_ xid: String, since: String) -> String {
        """
        \(xid) >= pg_snapshot_xmin(\(since)::text::pg_snapshot)
            AND \(xid) < pg_snapshot_xmax(look.at) AND NOT pg_visible_in_snapshot(\(xid), \(since)::text::pg_snapshot)
        """
    }
}
