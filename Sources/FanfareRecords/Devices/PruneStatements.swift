package import FanfareCore
package import PostgresClient

extension SQL {
    /// Reads the names of all apps.
    package static let appNames = Statement<String>(
        "app_names",
        "SELECT name FROM fanfare.apps ORDER BY name"
    )

    /// Reads the reasons for which pruning disables devices.
    package static let pruneReasons = Statement<String>(
        "prune_reasons",
        "SELECT DISTINCT reason FROM fanfare.outcome_codes WHERE outcome = 'gone' ORDER BY reason"
    )

    /// Computes the start of a ``RestoreRequest``'s period once, so that all following statements use the same.
    ///
    /// Binds: the period's seconds or the time's text.
    package static let prunedSince = Statement<Timestamp, Int64?, String?>(
        "pruned_since",
        "SELECT coalesce($2::timestamptz, clock_timestamp() - make_interval(secs => $1::float8))"
    )
}

/// The SQL for the devices of a ``RestoreRequest``.
private enum Pruned {
    static let condition = """
        a.name = $1 AND d.disabled_at >= $2::timestamptz AND ($3::timestamptz IS NULL OR d.disabled_at < $3::timestamptz)
            AND ($4::text IS NULL OR d.disabled_reason = $4) AND ($5::text IS NULL OR t.environment = $5)
            AND d.disabled_reason IN (SELECT c.reason FROM fanfare.outcome_codes AS c WHERE c.outcome = 'gone')
        """

    static func bind(_ request: RestoreRequest, since: Timestamp, to binds: inout PostgresBinds) {
        binds.append(request.app)
        binds.append(since)
        binds.append(request.until)
        binds.append(request.reason)
        binds.append(request.environment)
    }
}

/// Searches the next 20,000 of all devices for those to restore.
///
/// It goes by id, so that no statement is long even with tens of millions of devices, and concurrent restores do not
/// change what a statement reads. The last row has the last device that was read; there is none once all were.
package struct FindPruned: PostgresStatement {
    package static let name = "find_pruned"
    package static let sql = """
        WITH seen AS MATERIALIZED (
            SELECT x.id, x.app_id, x.target_id, x.disabled_at, x.disabled_reason FROM fanfare.devices AS x
            WHERE x.id > $6 ORDER BY x.id LIMIT 20000
        )
        SELECT d.disabled_reason, count(*), array_agg(d.id) FILTER (WHERE $7)
        FROM seen AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE \(Pruned.condition)
        GROUP BY d.disabled_reason
        UNION ALL
        SELECT NULL, max(s.id), NULL FROM seen AS s HAVING count(*) = 20000
        """

    package let request: RestoreRequest
    package let since: Timestamp
    /// The device after which it begins; 0 for the start.
    package let after: Int64
    /// Whether ids are returned too.
    package let withIDs: Bool

    package init(request: RestoreRequest, since: Timestamp, after: Int64, withIDs: Bool) {
        (self.request, self.since, self.after, self.withIDs) = (request, since, after, withIDs)
    }

    /// Some devices found, or the progress of the search.
    package enum Row: Sendable, Equatable {
        /// Devices that were disabled for a reason.
        case found(reason: String, devices: Int64, ids: [Int64])
        /// The last device that was read.
        case stopped(at: Int64)
    }

    package func bind(to binds: inout PostgresBinds) {
        Pruned.bind(request, since: since, to: &binds)
        binds.append(after)
        binds.append(withIDs)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Row {
        guard let reason = try row.string(orNil: 0) else { return .stopped(at: try row.int64(1)) }
        return .found(reason: reason, devices: try row.int64(1), ids: try row.read(2) ?? [])
    }
}

/// Restores some of the devices that ``FindPruned`` found, except those that have changed since.
package struct RestoreDevices: PostgresStatement {
    package static let name = "restore_devices"
    package static let sql = """
        WITH chosen AS (
            SELECT d.id, d.disabled_reason
            FROM unnest($6::bigint[]) AS i (id)
            JOIN fanfare.devices AS d ON d.id = i.id
            JOIN fanfare.apps AS a ON a.id = d.app_id
            JOIN fanfare.targets AS t ON t.id = d.target_id
            WHERE \(Pruned.condition)
            FOR NO KEY UPDATE OF d
        ),
        restored AS (
            UPDATE fanfare.devices AS d SET disabled_at = NULL, disabled_reason = NULL, reachable_since = clock_timestamp()
            FROM chosen AS c WHERE d.id = c.id
            RETURNING c.disabled_reason
        )
        SELECT disabled_reason, count(*) FROM restored GROUP BY disabled_reason
        """

    package let request: RestoreRequest
    package let since: Timestamp
    package let ids: [Int64]

    package init(request: RestoreRequest, since: Timestamp, ids: [Int64]) {
        (self.request, self.since, self.ids) = (request, since, ids)
    }

    package func bind(to binds: inout PostgresBinds) {
        Pruned.bind(request, since: since, to: &binds)
        binds.append(ids)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> (reason: String, devices: Int64) {
        (try row.string(0), try row.int64(1))
    }
}
