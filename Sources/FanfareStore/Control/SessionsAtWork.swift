internal import FanfareCore
package import PostgresClient

extension SQL {
    /// Reads which of some sessions the server is executing queries for; includes those whose state it does not report.
    ///
    /// Binds: backendPIDs.
    package static let sessionsAtWork = Statement<Int32, [Int32]>(
        "sessions_at_work",
        """
        SELECT pid FROM pg_stat_activity
        WHERE pid = ANY ($1::int[])
            AND coalesce(state, 'disabled') NOT IN ('idle', 'idle in transaction', 'idle in transaction (aborted)')
        """
    )
}
