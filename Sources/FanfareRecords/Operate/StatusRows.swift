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

/// Reads the registered daemons, leaders first.
package struct ListDaemons: PostgresStatement {
    package static let name = "list_daemons"
    package static let sql = """
        SELECT id, name, host, pid, version, started_at, heartbeat_at, lease_until > clock_timestamp(), leads, report::text
        FROM fanfare.instances
        ORDER BY cardinality(leads) DESC, id
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> DaemonRow {
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
            leads: try row.strings(8),
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

/// Reads the view `queue`, summed over the gates.
package struct ListQueues: PostgresStatement {
    package static let name = "list_queues"
    package static let sql = """
        SELECT app, provider, environment, lane, sum(ready)::bigint, sum(in_flight)::bigint, sum(waiting)::bigint, min(oldest)
        FROM fanfare.queue
        GROUP BY app, provider, environment, lane
        ORDER BY app, provider, environment, lane
        """

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> QueueRow {
        QueueRow(
            app: try row.string(0),
            provider: try row.string(1),
            environment: try row.string(2),
            lane: try row.string(3),
            ready: try row.int64(4),
            inFlight: try row.int64(5),
            waiting: try row.int64(6),
            oldest: try row.timestamp(orNil: 7)
        )
    }
}

/// A row of the view `health`.
package struct HealthRow: Sendable {
    package let name: String
    package let isOK: Bool
    package let detail: String
    package let since: Timestamp?
}

/// Reads the view `health`.
package struct ListHealth: PostgresStatement {
    package static let name = "list_health"
    package static let sql = "SELECT name, ok, detail, since FROM fanfare.health ORDER BY ok, name"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> HealthRow {
        HealthRow(
            name: try row.string(0),
            isOK: try row.bool(1),
            detail: try row.string(orNil: 2) ?? "",
            since: try row.timestamp(orNil: 3)
        )
    }
}

/// Reads the database's time.
package struct DatabaseNow: PostgresStatement {
    package static let name = "database_now"
    package static let sql = "SELECT clock_timestamp()"

    package init() {}

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Timestamp {
        try row.timestamp(0)
    }
}
