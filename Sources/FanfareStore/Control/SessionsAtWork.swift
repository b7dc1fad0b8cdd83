internal import FanfareCore
package import PostgresClient

/// Reads which of some sessions the server is executing queries for; includes those whose state it does not report.
package struct SessionsAtWork: PostgresStatement {
    package static let name = "sessions_at_work"
    package static let sql = """
        SELECT pid FROM pg_stat_activity
        WHERE pid = ANY ($1::int[])
            AND coalesce(state, 'disabled') NOT IN ('idle', 'idle in transaction', 'idle in transaction (aborted)')
        """

    package let backendPIDs: [Int32]

    package init(backendPIDs: [Int32]) {
        self.backendPIDs = backendPIDs
    }

    package func bind(to binds: inout PostgresBinds) {
        binds.append(backendPIDs)
    }

    package static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int32 {
        try row.int32(0)
    }
}
