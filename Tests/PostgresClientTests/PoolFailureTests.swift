import Foundation
import PrivateCluster
import TestKit
import Testing
import Threading

@testable import PostgresClient

/// Sessions that end under a pool, and unreachable servers.
@Suite(.timeLimit(.minutes(5))) struct PoolFailureTests {
    @Test func aSessionThatEndedWhileIdleIsNobodysError() async throws {
        let notices = Locked<[String]>([])
        let test = TestPool(try await sharedOptions())
        let first = try await test.backendPID()
        try await connect().execute("SELECT pg_catalog.pg_terminate_backend(\(first), 10000)")
        let runs = Locked(0)
        let second = try await test.pool.run { connection throws(PostgresError) in
            runs.withLock { $0 += 1 }
            connection.noticeHandler = { notice in notices.withLock { $0.append(notice.message) } }
            _ = try connection.query("SELECT 1")
            return connection.backendPID
        }
        #expect(second != first)
        #expect(runs.withLock { $0 } == 1)
        #expect(notices.withLock { $0 } == [], "the notice that ended the idle session does not belong to the work")
        await test.pool.close()
    }

    @Test func aSessionThatEndsDuringTheWorkIsTheWorksError() async throws {
        let test = TestPool(try await sharedOptions())
        let runs = Locked(0)
        let error = await #expect(throws: PostgresError.self) {
            try await test.pool.run { connection throws(PostgresError) in
                runs.withLock { $0 += 1 }
                try connection.execute("SELECT pg_catalog.pg_terminate_backend(pg_catalog.pg_backend_pid())")
            }
        }
        #expect(error?.code == .connectionLost)
        #expect(runs.withLock { $0 } == 1, "it may have taken effect, and is not repeated")
        #expect(try await test.backendPID() > 0)
        await test.pool.close()
    }

    @Test(.databaseOnOwnServer) func aRestartBetweenTwoUsesIsNotNoticed() async throws {
        let cluster = TestDatabase.current.cluster
        let test = TestPool(
            PostgresOptions(url: TestDatabase.current.url),
            PostgresPoolOptions(connections: 2)
        )
        let holder = try TestDatabase.current.connect()
        try holder.execute("SELECT pg_catalog.pg_advisory_lock(1)")
        try await withThrowingTaskGroup { group in
            for _ in 0..<2 {
                group.addTask {
                    try await test.pool.run { connection throws(PostgresError) in
                        try connection.execute("SELECT pg_catalog.pg_advisory_lock_shared(1)")
                    }
                }
            }
            try await test.reaches { $0.leased == 2 }
            holder.close()
            try await group.waitForAll()
        }
        #expect(test.pool.counts == PostgresPoolCounts(sessions: 2, leased: 0, waiting: 0))
        try await onThread { try cluster.restart(.fast) }
        for _ in 0..<3 { #expect(try await test.backendPID() > 0) }
        await test.pool.close()
    }

    @Test(.databaseOnOwnServer) func whileTheServerIsAwayAllThatWaitAreToldAndThenItIsFound() async throws {
        let cluster = TestDatabase.current.cluster
        let test = TestPool(PostgresOptions(url: TestDatabase.current.url))
        try await onThread { cluster.suspend(.fast) }
        let first = await #expect(throws: PostgresError.self) { try await test.backendPID() }
        #expect(first?.code == .connectionFailed)
        #expect(first?.isTransient == true)
        let callers = (0..<3).map { _ in Task { try await test.backendPID() } }
        // The next attempt starts only after the backoff.
        try await test.reaches { $0.waiting == 3 && $0.sessions == 0 }
        test.advance(by: .milliseconds(100))
        for caller in callers {
            let error = await #expect(throws: PostgresError.self) { try await caller.value }
            #expect(error?.code == .connectionFailed)
        }
        try await onThread { try cluster.resume() }
        let last = Task { try await test.backendPID() }
        try await test.reaches { $0.waiting == 1 }
        test.advance(by: .milliseconds(200))
        #expect(try await last.value > 0)
        await test.pool.close()
    }

    @Test func aServerThatDoesNotAnswerIsGivenUpInTime() async throws {
        let server = try SilentServer()
        let url = "postgres://u@127.0.0.1:\(server.port)/db?sslmode=disable&gssencmode=disable"
        // Longer than a test may take.
        let options = PostgresOptions(url: url, connectTimeout: .seconds(3600))
        let test = TestPool(options, PostgresPoolOptions(connections: 2, acquireTimeout: .seconds(5)))
        let hasty = Task { try await test.backendPID() }
        try await test.reaches { $0.waiting == 1 }
        test.advance(by: .seconds(5))
        let error = await #expect(throws: PostgresError.self) { try await hasty.value }
        #expect(error?.code == .poolTimeout)
        #expect(error?.message.contains("1 being opened") == true)
        let patient = Task { try await test.backendPID() }
        try await test.reaches { $0.waiting == 1 }
        await test.pool.close()
        let refused = await #expect(throws: PostgresError.self) { try await patient.value }
        #expect(refused?.code == .poolClosed)
        #expect(test.pool.counts == PostgresPoolCounts(sessions: 0, leased: 0, waiting: 0))
        withExtendedLifetime(server) {}
    }
}
