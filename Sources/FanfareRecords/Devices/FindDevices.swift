package import PostgresClient

extension SQL {
    /// Finds devices, the newest first, among a limited number that are read.
    ///
    /// Unlike ``listDevices``, it never reads all devices for a filter that few pass.
    ///
    /// Binds: app, provider, isDisabled, reason, before, limit, budget, disabledSince.
    package static let findDevices = Statement<
        SearchRow<RegisteredDevice>, String?, String?, Bool?, String?, Int64?, Int64, Int64, Timestamp?
    >(
        "find_devices",
        """
        WITH looked AS MATERIALIZED (
            SELECT d.id, d.app_id, d.provider, d.disabled_at, d.disabled_reason FROM fanfare.devices AS d
            WHERE d.id < coalesce($5, 9223372036854775807) ORDER BY d.id DESC LIMIT $7
        ),
        found AS MATERIALIZED (
            SELECT l.id FROM looked AS l
            WHERE ($1::text IS NULL OR l.app_id = (SELECT a.id FROM fanfare.apps AS a WHERE a.name = $1))
                AND ($2::text IS NULL OR l.provider = $2) AND ($3::boolean IS NULL OR (l.disabled_at IS NOT NULL) = $3)
                AND ($4::text IS NULL OR l.disabled_reason = $4) AND ($8::timestamptz IS NULL OR l.disabled_at >= $8)
            ORDER BY l.id DESC LIMIT $6
        )
        SELECT \(RegisteredDevice.columns), NULL::text[]
        FROM found AS f
        JOIN fanfare.devices AS d ON d.id = f.id
        JOIN fanfare.apps AS a ON a.id = d.app_id
        JOIN fanfare.targets AS t ON t.id = d.target_id
        UNION ALL
        SELECT min(l.id), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
        FROM looked AS l
        HAVING count(*) = $7 AND (SELECT count(*) FROM found) < $6
        ORDER BY 1 DESC
        """
    ) { row throws(PostgresError) in
        guard try row.string(orNil: 1) != nil else { return .stopped(.init(place: try row.int64(0), at: nil)) }
        return .found(try RegisteredDevice.decode(row))
    }
}

/// The devices of one kind.
package struct SampleDevicesRow: Sendable {
    package let app: String
    package let provider: String
    package let environment: String
    /// Why they are disabled; nil if they are enabled.
    package let disabledReason: String?
    /// `token`, or `fid` for devices that FCM reaches by their Firebase installation id.
    package let address: String
    /// `authorized`, `provisional` or `denied`; nil if no registration said it.
    package let permission: String?
    package let devices: Int64
    /// Whether all devices were counted.
    package let isExact: Bool
}

extension SQL {
    /// Estimates how many devices there are of each kind, from five hundred pages of the table; exact if it has no more.
    ///
    /// Binds: app.
    package static let sampleDevices = Statement<SampleDevicesRow, String?>(
        "sample_devices",
        """
        WITH part AS (
            SELECT least(1, 500.0 / greatest(c.relpages, 1)) AS share FROM pg_class AS c WHERE c.oid = 'fanfare.devices'::regclass
        )
        SELECT a.name, d.provider, t.environment, d.disabled_reason, coalesce(d.address, 'token'), d.permission, round(count(*) / p.share)::bigint, p.share = 1
        FROM fanfare.devices AS d
            TABLESAMPLE SYSTEM ((SELECT least(100, 50000.0 / greatest(c.relpages, 1))
                FROM pg_class AS c WHERE c.oid = 'fanfare.devices'::regclass)) REPEATABLE (1)
        CROSS JOIN part AS p
        JOIN fanfare.targets AS t ON t.id = d.target_id
        JOIN fanfare.apps AS a ON a.id = d.app_id
        WHERE $1::text IS NULL OR a.name = $1
        GROUP BY 1, 2, 3, 4, 5, 6, p.share
        ORDER BY 1, 2, 3, 7 DESC
        """,
        row: SampleDevicesRow.init
    )
}
