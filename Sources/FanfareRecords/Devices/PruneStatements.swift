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

/// The devices of a ``RestoreRequest``.
package struct PrunedDevices: PostgresBind {
    private let request: RestoreRequest
    private let since: Timestamp

    /// - Parameters:
    ///   - request: the request.
    ///   - since: the start of its period, of ``SQL/prunedSince``.
    package init(_ request: RestoreRequest, since: Timestamp) {
        (self.request, self.since) = (request, since)
    }

    fileprivate static let condition = """
        a.name = $1 AND d.disabled_at >= $2::timestamptz AND ($3::timestamptz IS NULL OR d.disabled_at < $3::timestamptz)
            AND ($4::text IS NULL OR d.disabled_reason = $4) AND ($5::text IS NULL OR t.environment = $5)
            AND d.disabled_reason IN (SELECT c.reason FROM fanfare.outcome_codes AS c WHERE c.outcome = 'gone')
        """

    package func append(to binds: inout PostgresBinds) {
        binds.append(request.app)
        binds.append(since)
        binds.append(request.until)
        binds.append(request.reason)
        binds.append(request.environment)
    }
}

/// Some devices found, or the progress of the search.
package enum PrunedRow: Sendable, Equatable {
    /// Devices that were disabled for a reason.
    case found(reason: String, devices: Int64, ids: [Int64])
    /// The last device that was read.
    case stopped(at: Int64)
}

extension SQL {
    /// Searches the next 20,000 of all devices for those to restore.
    ///
    /// It goes by id, so that no statement is long even with tens of millions of devices, and concurrent restores do not
    /// change what a statement reads. The last row has the last device that was read; there is none once all were.
    ///
    /// Binds: devices, the device after which it begins (0 for the start), whether ids are returned too.
    package static let findPruned = Statement<PrunedRow, PrunedDevices, Int64, Bool>(
        "find_pruned",
        """
        WITH seen AS MATERIALIZED (
            SELECT x.id, x.app_id, x.target_id, x.disabled_at, x.disabled_reason FROM fanfare.devices AS x
            WHERE x.id > $6 ORDER BY x.id LIMIT 20000
        )
        SELECT d.disabled_reason, count(*), array_agg(d.id) FILTER (WHERE $7)
        FROM seen AS d
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        WHERE \(PrunedDevices.condition)
        GROUP BY d.disabled_reason
        UNION ALL
        SELECT NULL, max(s.id), NULL FROM seen AS s HAVING count(*) = 20000
        """
    ) { row throws(PostgresError) in
        guard let reason = try row.string(orNil: 0) else { return .stopped(at: try row.int64(1)) }
        return .found(reason: reason, devices: try row.int64(1), ids: try row.read(2) ?? [])
    }

    /// Restores some of the devices that ``findPruned`` found, except those that have changed since.
    ///
    /// Binds: devices, ids.
    package static let restoreDevices = Statement<(reason: String, devices: Int64), PrunedDevices, [Int64]>(
        "restore_devices",
        """
        WITH chosen AS (
            SELECT d.id, d.disabled_reason
            FROM unnest($6::bigint[]) AS i (id)
            JOIN fanfare.devices AS d ON d.id = i.id
            JOIN fanfare.apps AS a ON a.id = d.app_id
            JOIN fanfare.targets AS t ON t.id = d.target_id
            WHERE \(PrunedDevices.condition)
            FOR NO KEY UPDATE OF d
        ),
        restored AS (
            UPDATE fanfare.devices AS d SET disabled_at = NULL, disabled_reason = NULL, reachable_since = clock_timestamp()
            FROM chosen AS c WHERE d.id = c.id
            RETURNING c.disabled_reason
        )
        SELECT disabled_reason, count(*) FROM restored GROUP BY disabled_reason
        """,
        row: { ($0, $1) }
    )
}
