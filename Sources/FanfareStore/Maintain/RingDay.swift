package import PostgresClient

/// A day of the ring: its partitions of both logs.
package struct RingDay {
    private let tables: String

    /// - Parameter day: 0 to 31.
    package init(_ day: Int16) {
        let suffix = (day < 10 ? "0" : "") + String(day)
        tables = "fanfare.event_log_\(suffix), fanfare.batch_log_\(suffix)"
    }

    /// Locks it until the transaction's end; a reader in the way costs 200 ms, and refuses (55P03).
    package func lock(on connection: PostgresConnection) throws(PostgresError) {
        try connection.execute("SET LOCAL lock_timeout = '200ms'; LOCK TABLE \(tables) IN ACCESS EXCLUSIVE MODE")
    }

    /// Empties it.
    package func empty(on connection: PostgresConnection) throws(PostgresError) {
        try connection.execute("TRUNCATE \(tables)")
    }
}
