package import FanfareCore
package import PostgresClient

/// A registered daemon.
package struct DaemonRow: Sendable {
    package let id: Int32
    package let name: String
    package let host: String
    package let pid: Int32
    package let version: String
    package let startedAt: Timestamp
    package let heartbeatAt: Timestamp
    package let isAlive: Bool
    package let leads: [String]
    /// The report that it sends with each heartbeat (DaemonState).
    package let report: JSONValue
}

extension SQL {
    /// Reads the registered daemons, leaders first.
    package static let listDaemons = Statement<DaemonRow>(
        "list_daemons",
        """
        SELECT id, name, host, pid, version, started_at, heartbeat_at, lease_until > clock_timestamp(), leads, report::text
        FROM fanfare.instances
        ORDER BY cardinality(leads) DESC, id
        """
    ) { row throws(PostgresError) in
        let report = try row.string(9)
        return DaemonRow(
            id: try row.int32(0),
            name: try row.string(1),
            host: try row.string(2),
            pid: try row.int32(3),
            version: try row.string(4),
            startedAt: try row.timestamp(5),
            heartbeatAt: try row.timestamp(6),
            isAlive: try row.bool(7),
            leads: try row.read(8),
            report: (try? JSONValue(parsing: report)) ?? .null
        )
    }
}

/// The deliveries that one lane of one target still has to send.
package struct QueueRow: Sendable {
    package let app: String
    package let provider: String
    package let environment: String
    package let lane: String
    package let ready: Int64
    package let inFlight: Int64
    package let waiting: Int64
    package let oldest: Timestamp?
}

extension SQL {
    /// Reads the view `queue`, summed over the gates.
    package static let listQueues = Statement<QueueRow>(
        "list_queues",
        """
        SELECT app, provider, environment, lane, sum(ready)::bigint, sum(in_flight)::bigint, sum(waiting)::bigint, min(oldest)
        FROM fanfare.queue
        GROUP BY app, provider, environment, lane
        ORDER BY app, provider, environment, lane
        """,
        row: QueueRow.init
    )
}

/// A row of the view `health`.
package struct HealthRow: Sendable {
    package let name: String
    package let isOK: Bool
    package let detail: String
    package let since: Timestamp?
}

extension SQL {
    /// Reads the view `health`.
    package static let listHealth = Statement<HealthRow>(
        "list_health",
        "SELECT name, ok, detail, since FROM fanfare.health ORDER BY ok, name"
    ) { row throws(PostgresError) in
        HealthRow(
            name: try row.string(0),
            isOK: try row.bool(1),
            detail: try row.string(orNil: 2) ?? "",
            since: try row.timestamp(orNil: 3)
        )
    }

    /// Reads the database's time.
    package static let databaseNow = Statement<Timestamp>(
        "database_now",
        "SELECT clock_timestamp()"
    )
}
