package import FanfareCore
package import PostgresClient

/// The apps there are.
package struct AppNames: PostgresStatement {
    package static let name = "app_names"
    package static let sql = "SELECT name FROM fanfare.apps ORDER BY name"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}

/// The reasons for which pruning disables devices.
package struct PruneReasons: PostgresStatement {
    package static let name = "prune_reasons"
    package static let sql = "SELECT DISTINCT reason FROM fanfare.outcome_codes WHERE outcome = 'gone' ORDER BY reason"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        try row.string(0)
    }
}

/// The devices a ``RestoreRequest`` means.
private enum Pruned {
    static let condition = """
        a.name = $1 AND d.disabled_at >= coalesce($3::timestamptz, clock_timestamp() - make_interval(secs => $2::float8))
            AND ($4::text IS NULL OR d.disabled_reason = $4) AND ($5::text IS NULL OR t.environment = $5)
            AND d.disabled_reason IN (SELECT c.reason FROM fanfare.outcome_codes AS c WHERE c.outcome = 'gone')
        """

    static func bind(_ request: RestoreRequest, to binds: inout PostgresBinds) {
        binds.append(request.app)
        binds.append(request.since.seconds)
        binds.append(request.since.text)
        binds.append(request.reason)
        binds.append(request.environment)
    }
}

/// Counts the devices that would be restored.
package struct CountPruned: PostgresStatement {
    package static let name = "count_pruned"
    package static let sql = """
        SELECT d.disabled_reason, count(*)
        FROM fanfare.devices AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE \(Pruned.condition)
        GROUP BY d.disabled_reason
        ORDER BY d.disabled_reason
        """

    package let request: RestoreRequest

    package init(request: RestoreRequest) {
        self.request = request
    }

    package func bind(to binds: inout PostgresBinds) {
        Pruned.bind(request, to: &binds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (reason: String, devices: Int64) {
        (try row.string(0), try row.int64(1))
    }
}

/// Restores up to 10,000 devices, so that no transaction is long.
package struct RestoreDevices: PostgresStatement {
    package static let name = "restore_devices"
    package static let sql = """
        WITH slice AS (
            SELECT d.id, d.disabled_reason
            FROM fanfare.devices AS d
            JOIN fanfare.apps AS a ON a.id = d.app_id
            JOIN fanfare.targets AS t ON t.id = d.target_id
            WHERE \(Pruned.condition)
            LIMIT 10000
            FOR NO KEY UPDATE OF d
        ),
        restored AS (
            UPDATE fanfare.devices AS d SET disabled_at = NULL, disabled_reason = NULL
            FROM slice AS s WHERE d.id = s.id
            RETURNING s.disabled_reason
        )
        SELECT disabled_reason, count(*) FROM restored GROUP BY disabled_reason
        """

    package let request: RestoreRequest

    package init(request: RestoreRequest) {
        self.request = request
    }

    package func bind(to binds: inout PostgresBinds) {
        Pruned.bind(request, to: &binds)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (reason: String, devices: Int64) {
        (try row.string(0), try row.int64(1))
    }
}

/// Counts the devices that would be restored, so many of all at a time: what ``CountPruned`` counts in one go.
///
/// The last row tells up to which device was looked; there is none once all have been.
package struct CountPrunedSlice: PostgresStatement {
    package static let name = "count_pruned_slice"
    package static let sql = """
        WITH slice AS MATERIALIZED (
            SELECT x.id, x.app_id, x.target_id, x.disabled_at, x.disabled_reason FROM fanfare.devices AS x
            WHERE x.id > $6 ORDER BY x.id LIMIT 50000
        )
        SELECT d.disabled_reason, count(*)
        FROM slice AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE \(Pruned.condition)
        GROUP BY d.disabled_reason
        UNION ALL
        SELECT NULL, max(s.id) FROM slice AS s HAVING count(*) > 0
        """

    package let request: RestoreRequest
    /// The device behind which it looks; 0 for the beginning.
    package let after: Int64

    package init(request: RestoreRequest, after: Int64) {
        (self.request, self.after) = (request, after)
    }

    /// A part of the count, or how far it is.
    package enum Row: Sendable, Equatable {
        /// Devices that were disabled for a reason.
        case counted(reason: String, devices: Int64)
        /// The last device that was looked at.
        case stopped(at: Int64)
    }

    package func bind(to binds: inout PostgresBinds) {
        Pruned.bind(request, to: &binds)
        binds.append(after)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        guard let reason = try row.string(orNil: 0) else { return .stopped(at: try row.int64(1)) }
        return .counted(reason: reason, devices: try row.int64(1))
    }
}
