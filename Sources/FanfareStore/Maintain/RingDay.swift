package import PostgresClient

/// A day of the ring: its partitions in all logs.
package struct RingDay {
    private let tables: String

    /// - Parameter day: the day, from 0 to 31.
    package init(_ day: Int16) {
        let suffix = (day < 10 ? "0" : "") + String(day)
        tables = ["event_log", "batch_log", "report_log", "report_actions"].map { "fanfare.\($0)_\(suffix)" }
            .joined(separator: ", ")
    }

    /// Locks the partitions until the transaction ends; waits 200 ms for a reader, then fails with 55P03.
    package func lock(on connection: PostgresConnection) throws(PostgresError) {
        try connection.execute("SET LOCAL lock_timeout = '200ms'; LOCK TABLE \(tables) IN ACCESS EXCLUSIVE MODE")
    }

    /// Empties the partitions.
    package func empty(on connection: PostgresConnection) throws(PostgresError) {
        try connection.execute("TRUNCATE \(tables)")
    }
}
