package import PostgresClient

/// The key that signs handles, and the apps whose pushes have one unless a rule says otherwise.
package struct ReportRow {
    package let keyID: Int16
    package let secret: [UInt8]
    package let apps: [String]
}

extension SQL {
    /// Reads the key of handles and the apps whose policy has `report: true`; one row.
    package static let liveReports = Statement<ReportRow>(
        "live_reports",
        """
        SELECT k.id, k.secret, ARRAY(
            SELECT a.name FROM fanfare.policies AS p JOIN fanfare.apps AS a ON a.id = p.app_id
            WHERE p.definition ->> 'report' = 'true' ORDER BY a.name)
        FROM fanfare.report_keys AS k WHERE k.retired_at IS NULL
        """,
        row: ReportRow.init
    )
}
