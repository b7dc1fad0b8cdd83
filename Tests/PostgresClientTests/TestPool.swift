import Foundation
import TestKit
import Threading

@testable import PostgresClient

/// A pool with a clock that the test advances, and with changes that a test can wait for.
final class TestPool: Sendable {
    let pool: PostgresPool
    /// The name of its sessions at the server.
    let name: String
    private let clock: Locked<ContinuousClock.Instant>
    private let changes: Mailbox<Void>

    init(
        _ options: PostgresOptions,
        _ limits: PostgresPoolOptions = PostgresPoolOptions(connections: 1)
    ) {
        name = "pool " + UUID().uuidString.prefix(8)
        let (clock, changes) = (Locked(ContinuousClock.now), Mailbox<Void>())
        (self.clock, self.changes) = (clock, changes)
        var options = options
        options.applicationName = name
        pool = PostgresPool(
            options,
            limits: limits,
            now: { clock.withLock { $0 } },
            onChange: { changes.put(()) }
        )
    }

    /// Advances the clock.
    func advance(by time: Duration) {
        clock.withLock { $0 += time }
        pool.clockMoved()
    }

    /// Waits until the pool's counts satisfy a condition.
    func reaches(_ isReached: @escaping @Sendable (PostgresPoolCounts) -> Bool) async throws {
        try await onThread { [pool, changes] in
            while !isReached(pool.counts) { _ = changes.take() }
        }
    }

    /// Returns the backend's process id of the next caller's session.
    func backendPID() async throws(PostgresError) -> Int32 {
        try await pool.run { connection throws(PostgresError) in
            let pid = connection.backendPID
            _ = try connection.query("SELECT 1")
            return pid
        }
    }
}

extension PostgresConnection {
    /// Returns the number of a pool's sessions at the server.
    func sessions(of pool: TestPool) throws -> Int {
        let sql = "SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE application_name = $1"
        return try Int(text(sql, pool.name) ?? "") ?? -1
    }

    /// Blocks until the server has no session for a pool.
    func waitUntilGone(_ pool: TestPool) throws {
        try waitUntil(
            "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE application_name = $1)",
            pool.name
        )
    }
}
