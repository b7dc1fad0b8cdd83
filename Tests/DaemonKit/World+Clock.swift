import PostgresClient
import Threading

@testable import FanfareStages

/// Simulated times.
extension World {
    /// Returns a time in microseconds since 1970.
    ///
    /// - Parameter time: the time as PostgreSQL reads it, with its offset.
    func microseconds(_ time: String) throws -> Int64 {
        try connection.number("SELECT (extract(epoch FROM $1::timestamptz) * 1000000)::bigint", time)
    }

    /// Sets the daemon's estimate of the database's clock; the database's own timestamps are not changed.
    func setClock(_ time: String) throws {
        context.lease.begin(owner: 1, startedAt: Clocks.steady, databaseNow: try microseconds(time))
    }

    /// Sets the clock to a time, and emits and plans an event then.
    func emit(_ event: String, _ payload: String, at time: String) throws -> Int64 {
        try setClock(time)
        let id = try emit(event, payload)
        try plan()
        _ = try connection.query(
            "UPDATE fanfare.event_log SET created_at = $1::timestamptz, planned_at = $1::timestamptz WHERE id = $2::bigint",
            time,
            String(id)
        )
        return id
    }
}
