package import PostgresClient

/// A day of the ring: its partitions in both logs.
package struct RingDay {
    private let tables: String

    /// - Parameter day: the day, from 0 to 31.
    package init(_ day: Int16) {
        let suffix = (day < 10 ? "0" : "") + String(day)
        tables = "fanfare.event_log_\(suffix), fanfare.batch_log_\(suffix)"
    }

    /// Locks both partitions until the transaction ends; waits 200 ms for a reader, then fails with 55P03.
    package func lock(on connection: PostgresConnection) throws(PostgresError) {
        try connection.execute("SET LOCAL lock_timeout = '200ms'; LOCK TABLE \(tables) IN ACCESS EXCLUSIVE MODE")
    }

    /// Empties both partitions.
    package func empty(on connection: PostgresConnection) throws(PostgresError) {
        try connection.execute("TRUNCATE \(tables)")
    }
}
