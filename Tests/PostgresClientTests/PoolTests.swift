import Foundation
import PrivateCluster
import TestKit
import Testing
import Threading

@testable import PostgresClient

@Suite(.timeLimit(.minutes(5))) struct PoolTests {
    @Test func moreCallersThanSessionsAreAllServed() async throws {
        let test = TestPool(try await sharedOptions(), PostgresPoolOptions(connections: 3))
        let holder = try await connect()
        try holder.execute("SELECT pg_catalog.pg_advisory_lock(101)")
        let answers = try await withThrowingTaskGroup { group in
            for _ in 0..<40 {
                group.addTask {
                    try await test.pool.run { connection throws(PostgresError) in
                        let activity = "pg_catalog.pg_stat_activity WHERE application_name = $1"
                        try connection.execute("SELECT pg_catalog.pg_advisory_lock_shared(101)")
                        let count = try connection.query("SELECT count(*) FROM " + activity, test.name).rows[0][0]
                        try connection.execute("SELECT pg_catalog.pg_advisory_unlock_shared(101)")
                        return (connection.backendPID, count)
                    }
                }
            }
            try await test.reaches { $0.leased == 3 && $0.waiting == 37 }
            try holder.execute("SELECT pg_catalog.pg_advisory_unlock(101)")
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count == 40)
        #expect(Set(answers.map(\.0)).count == 3)
        #expect(Set(answers.map(\.1)) == ["3"], "all are open, and never more")
        #expect(test.pool.counts == PostgresPoolCounts(sessions: 3, leased: 0, waiting: 0))
        await test.pool.close()
    }

    @Test func callersAreServedInTheOrderOfComing() async throws {
        let test = TestPool(try await sharedOptions())
        let holder = try await connect()
        try holder.execute("SELECT pg_catalog.pg_advisory_lock(102)")
        let order = Locked<[Int]>([])
        try await withThrowingTaskGroup { group in
            for number in 0..<12 {
                group.addTask {
                    try await test.pool.run { connection throws(PostgresError) in
                        order.withLock { $0.append(number) }
                        if number == 0 { try connection.execute("SELECT pg_catalog.pg_advisory_lock(102)") }
                    }
                }
                try await test.reaches { $0.leased == 1 && $0.waiting == number }
            }
            try holder.execute("SELECT pg_catalog.pg_advisory_unlock(102)")
            try await group.waitForAll()
        }
        #expect(order.withLock { $0 } == Array(0..<12))
        await test.pool.close()
    }

    @Test func theSameSessionServesOneAfterTheOther() async throws {
        let test = TestPool(try await sharedOptions(), PostgresPoolOptions(connections: 4))
        #expect(test.pool.counts.sessions == 0, "none before it is needed")
        let first = try await test.backendPID()
        for _ in 0..<5 { #expect(try await test.backendPID() == first) }
        #expect(try await connect().sessions(of: test) == 1)
        await test.pool.close()
    }

    @Test func whoWaitsTooLongIsTold() async throws {
        let test = TestPool(
            try await sharedOptions(),
            PostgresPoolOptions(connections: 1, acquireTimeout: .seconds(5))
        )
        let holder = try await connect()
        try holder.execute("SELECT pg_catalog.pg_advisory_lock(103)")
        async let working: Void = test.pool.run { connection throws(PostgresError) in
            try connection.execute("SELECT pg_catalog.pg_advisory_lock(103)")
        }
        try await test.reaches { $0.leased == 1 }
        let patient = Task { try await test.pool.run(acquireTimeout: .seconds(60)) { $0.backendPID } }
        try await test.reaches { $0.waiting == 1 }
        let hasty = Task { try await test.pool.run { $0.backendPID } }
        try await test.reaches { $0.waiting == 2 }
        test.advance(by: .seconds(5))
        let error = await #expect(throws: PostgresError.self) { try await hasty.value }
        #expect(error?.code == .poolTimeout)
        #expect(error?.isTransient == true && error?.isConnectionLost == false)
        #expect(
            error?.message == "no session was free in time: 1 at work, 0 being opened, at most 1; others waiting: 1"
        )
        try holder.execute("SELECT pg_catalog.pg_advisory_unlock(103)")
        #expect(try await patient.value > 0)
        try await working
        await test.pool.close()
    }

    @Test func aDatabaseThatIsNotThereIsTheAnswerAtOnce() async throws {
        let url = try await TestCluster.shared().connectionURL(database: "no such database")
        let test = TestPool(PostgresOptions(url: url))
        let error = await #expect(throws: PostgresError.self) { try await test.backendPID() }
        #expect(error?.code == .connectionFailed)
        #expect(error?.sqlState == "3D000")
        #expect(test.pool.counts == PostgresPoolCounts(sessions: 0, leased: 0, waiting: 0))
        await test.pool.close()
    }

    @Test func idleSessionsEndAfterAWhile() async throws {
        let test = TestPool(try await sharedOptions(), PostgresPoolOptions(connections: 1, idleLifetime: .seconds(60)))
        let first = try await test.backendPID()
        test.advance(by: .seconds(59))
        #expect(try await test.backendPID() == first)
        test.advance(by: .seconds(60))
        try await test.reaches { $0.sessions == 0 }
        try await connect().waitUntilGone(test)
        #expect(try await test.backendPID() != first)
        await test.pool.close()
    }
}

/// The state that callers leave in their sessions, and how it is cleaned up.
@Suite(.timeLimit(.minutes(5))) struct PoolLeftoverTests {
    struct Own: Error {}

    @Test func aTransactionLeftOpenIsRolledBackAndTold() async throws {
        let test = TestPool(try await sharedOptions())
        let first = try await test.pool.run { connection throws(PostgresError) in
            try connection.execute("CREATE TEMP TABLE left_behind (n integer)")
            return connection.backendPID
        }
        let error = await #expect(throws: PostgresError.self) {
            try await test.pool.run { connection throws(PostgresError) in
                try connection.execute("BEGIN")
                try connection.execute("INSERT INTO left_behind VALUES (1)")
            }
        }
        #expect(error?.code == .transactionLeftOpen)
        #expect(error?.isTransient == false)
        let (count, second) = try await test.pool.run { connection throws(PostgresError) in
            (try connection.query("SELECT count(*) FROM left_behind").rows[0][0], connection.backendPID)
        }
        #expect(count == "0")
        #expect(second == first)
        await test.pool.close()
    }

    @Test func theWorksOwnErrorTellsMore() async throws {
        let test = TestPool(try await sharedOptions())
        let error = await #expect(throws: PostgresError.self) {
            try await test.pool.run { connection throws(PostgresError) in
                try connection.execute("BEGIN")
                try connection.execute("SELECT 1/0")
            }
        }
        #expect(error?.sqlState == "22012")
        #expect(try await test.backendPID() > 0)
        await test.pool.close()
    }

    @Test func errorsOfOtherTypesComeThrough() async throws {
        let test = TestPool(try await sharedOptions())
        await #expect(throws: Own.self) {
            try await test.pool.run(throwingAny: { connection in
                try connection.transaction(throwingAny: { connection in
                    try connection.execute("CREATE TABLE public.never (n integer)")
                    throw Own()
                })
            })
        }
        let table = try await test.pool.run { connection throws(PostgresError) in
            try connection.query("SELECT to_regclass('public.never')").rows
        }
        #expect(table == [[nil]])
        await test.pool.close()
    }

    @Test func aConnectionThatTheWorkClosesIsReplaced() async throws {
        let test = TestPool(try await sharedOptions())
        let first = try await test.pool.run { connection throws(PostgresError) in
            try connection.execute("SET TimeZone = 'Asia/Tokyo'")
            defer { connection.close() }
            return connection.backendPID
        }
        let (zone, second) = try await test.pool.run { connection throws(PostgresError) in
            (try connection.query("SHOW TimeZone").rows[0][0], connection.backendPID)
        }
        #expect(zone == "UTC")
        #expect(second != first)
        await test.pool.close()
    }

    @Test func noticesReachTheHandlerOfTheirOwnWorkOnly() async throws {
        let own = Locked<[String]>([])
        let test = TestPool(try await sharedOptions())
        func warn(_ text: String, _ handler: (@Sendable (PostgresNotice) -> Void)? = nil) async throws {
            try await test.pool.run { connection throws(PostgresError) in
                if let handler { connection.noticeHandler = handler }
                try connection.execute("DO $$ BEGIN RAISE WARNING '\(text)'; END $$")
            }
        }
        try await warn("first")
        try await warn("second") { notice in own.withLock { $0.append(notice.message) } }
        try await warn("third")
        #expect(own.withLock { $0 } == ["second"])
        await test.pool.close()
    }
}
