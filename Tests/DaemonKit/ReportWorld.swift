import PostgresClient

@testable import FanfareStore

extension World {
    /// Sends one report as a device, with its own key unless another is given.
    ///
    /// - Parameters:
    ///   - kind: 0 received, 1 shown, 2 opened, 3 action, 4 dismissed.
    ///   - device: the device.
    ///   - event: the event whose handle is sent.
    ///   - action: the action, for kind 3.
    ///   - text: the reply, for kind 3.
    ///   - key: the key as SQL.
    ///   - handle: the handle as SQL.
    ///   - app: the app of the request.
    ///   - user: the user of a phone's token; empty for a key.
    /// - Returns: whether the sender is believed.
    @discardableResult
    func report(
        _ kind: Int,
        of device: Int64,
        event: Int64,
        action: String = "",
        text: String = "",
        key: String? = nil,
        handle: String? = nil,
        app: String = "shop",
        user: String = ""
    ) throws -> Bool {
        let key = key ?? "(SELECT split_part(fanfare.report_key(\(device)), '.', 2))"
        let version = "(SELECT max(v.id) FROM fanfare.rule_versions AS v WHERE v.state = 'active')"
        let handle = handle ?? "fanfare.report_handle(\(event), \(version), 0)"
        return try connection.text(
            """
            SELECT t.is_sender[1] FROM fanfare.take_reports(ARRAY['\(app)'], ARRAY[\(device)::bigint],
                ARRAY[coalesce(decode(translate(nullif(\(key), ''), '-_', '+/') || '==', 'base64'), '')], ARRAY['\(user)'],
                ARRAY[decode(translate(\(handle), '-_', '+/'), 'base64')], ARRAY[\(kind)::smallint], ARRAY['\(action)'],
                ARRAY[now()], ARRAY['\(text)']) AS t
            """
        ) == "t"
    }

    /// Moves all reports that wait into their log.
    func foldReports() throws {
        while try connection.run(SQL.foldReports()).first ?? 0 > 0 {}
    }

    /// Returns how many devices reported each kind, as `kind:count`.
    func reportCounts() throws -> [String] {
        try foldReports()
        return try connection.column(
            "SELECT kind || ':' || sum(devices) FROM fanfare.report_stats GROUP BY kind ORDER BY kind"
        )
    }
}
