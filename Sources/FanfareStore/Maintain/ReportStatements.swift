package import PostgresClient

/// The limits of moving reports into their log.
package enum ReportFolding {
    /// The most reports per statement; if as many were found, there may be more.
    package static let depth = 20_000
}

extension SQL {
    /// Moves some reports that wait into their log, and counts them; returns how many waited.
    package static let foldReports = Statement<Int64>(
        "fold_reports",
        "SELECT fanfare.fold_reports(\(ReportFolding.depth))"
    )

    /// Deletes the reports on batches and events that are older than the retention and share their partition with newer
    /// ones.
    ///
    /// Binds: day, retentionDays.
    package static let forgetReports = Statement<Void, Int16, Int32>(
        "forget_reports",
        """
        WITH kept AS (\(firstKeptSQL("$2"))),
        actions AS (
            DELETE FROM fanfare.report_actions WHERE day = $1 AND event_id < (SELECT id FROM kept)
        )
        DELETE FROM fanfare.report_log WHERE day = $1 AND batch_id = ANY (ARRAY(
            SELECT batch_id FROM fanfare.report_log WHERE day = $1 AND batch_id < (SELECT id FROM kept) LIMIT \(Forgetting.limit)))
        """
    )

    /// Deletes some counts of reports that are as old as the counts of gates, and rates of users who chose no action lately.
    package static let forgetReportCounts = Statement<Void>(
        "forget_report_counts",
        """
        WITH rates AS (
            DELETE FROM fanfare.report_rates WHERE since < statement_timestamp() - interval '1 day'
        )
        DELETE FROM fanfare.report_counts WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM fanfare.report_counts
            WHERE event_id < ((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - \(Forgetting.gateDays))::bigint << 32
            ORDER BY event_id LIMIT \(Forgetting.limit)))
        """
    )
}
