package import FanfareRecords
internal import PostgresClient

extension ToolDatabase {
    /// Returns the key with which a device reports what happened to its pushes.
    ///
    /// - Parameter device: the device's id.
    /// - Returns: nil if it is disabled.
    /// - Throws: ``ToolError`` for database errors.
    package func reportKey(of device: Int64) async throws(ToolError) -> String? {
        try await rows(of: SQL.reportKey(device)).first ?? nil
    }

    /// Stores reports of devices.
    ///
    /// - Parameter reports: the reports with their senders.
    /// - Returns: who was believed, and how many reports were stored.
    /// - Throws: ``ToolError`` for database errors.
    package func take(_ reports: SentReports) async throws(ToolError) -> TakenReports {
        try await rows(of: SQL.takeReports(reports)).first ?? TakenReports(areSenders: [], stored: 0)
    }
}
