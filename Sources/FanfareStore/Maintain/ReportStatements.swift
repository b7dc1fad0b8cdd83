package import PostgresClient

/// The limits of moving reports into their log.
package enum ReportFolding {
    /// The most reports per statement; if as many were found, there may be more.
    package static let depth = 20_000
    /// The most events per statement that may be conversions.
    package static let conversions = 5_000
}

extension SQL {
    /// Moves some reports that wait into their log, and counts them; returns how many waited.
    package static let foldReports = Statement<Int64>(
        "fold_reports",
        "SELECT fanfare.fold_reports(\(ReportFolding.depth))"
    )

    /// Credits some events of `conversion` types to the pushes that led to them; returns how many were due.
    package static let creditConversions = Statement<Int64>(
        "credit_conversions",
        "SELECT fanfare.credit_conversions(\(ReportFolding.conversions))"
    )

    /// Deletes some opened pushes whose window was over an hour ago, and the alarms of rules that have no `conversion_sql` any more.
    package static let forgetTouches = Statement<Void>(
        "forget_touches",
        """
        WITH alarms AS (
            DELETE FROM fanfare.alarms AS x WHERE x.name LIKE 'conversion_sql/%' AND NOT EXISTS (
                SELECT FROM fanfare.rule_versions AS v JOIN fanfare.rules AS r ON r.id = v.rule_id JOIN fanfare.apps AS a ON a.id = r.app_id
                WHERE v.conversion_event = 'sql:' || r.id AND v.state = 'active' AND v.retired_at IS NULL
                    AND x.name = 'conversion_sql/' || a.name || '/' || r.name)
        )
        DELETE FROM fanfare.touches WHERE ctid = ANY (ARRAY(
            SELECT t.ctid FROM fanfare.touches AS t WHERE t.until < statement_timestamp() - interval '1 hour'
            ORDER BY t.until LIMIT \(Forgetting.limit) FOR UPDATE SKIP LOCKED))
        """
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

    /// Deletes some actions that are older than their retention.
    ///
    /// Binds: retentionDays.
    package static let forgetReportActions = Statement<Void, Int32>(
        "forget_report_actions",
        """
        DELETE FROM fanfare.report_actions AS x USING (
            SELECT a.day, a.event_id, a.device_id, a.action FROM fanfare.report_actions AS a
            WHERE a.event_id < (\(firstKeptSQL("$1"))) LIMIT \(Forgetting.limit)
        ) AS o
        WHERE x.day = o.day AND x.event_id = o.event_id AND x.device_id = o.device_id AND x.action = o.action
        """
    )

    /// Deletes what devices reported of pushes that were sent seven to nine days ago, for apps whose policy has
    /// `report_devices: false`: nothing more is counted for these pushes.
    package static let forgetReportDevices = Statement<Void>(
        "forget_report_devices",
        """
        WITH apps AS MATERIALIZED (
            SELECT p.app_id FROM fanfare.policies AS p WHERE p.definition ->> 'report_devices' = 'false'
        ),
        past AS MATERIALIZED (
            SELECT d AS day FROM generate_series(8, 9) AS ago
            CROSS JOIN LATERAL (SELECT ((((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - ago) % 32)::smallint) AS d) AS x
            WHERE EXISTS (SELECT FROM apps)
        ),
        actions AS (
            DELETE FROM fanfare.report_actions AS a USING past AS p, fanfare.rule_versions AS v, fanfare.rules AS r, apps
            WHERE a.day = p.day AND v.id = a.rule_version AND r.id = v.rule_id AND r.app_id = apps.app_id
        )
        DELETE FROM fanfare.report_log AS x
        USING fanfare.batch_log AS b, fanfare.rule_versions AS v, fanfare.rules AS r, apps
        -- A batch may be closed long after the day of its id.
        WHERE b.closed_at BETWEEN now() - interval '9 days' AND now() - interval '7 days' AND x.day = b.day AND x.batch_id = b.id
            AND v.id = b.rule_version AND r.id = v.rule_id AND r.app_id = apps.app_id
        """
    )
}
