import Foundation
import TestKit
import Testing
import Threading

@testable import PostgresClient

@Suite(.timeLimit(.minutes(5))) struct PoolCancellationTests {
    @Test func whoCancelsWhileWaitingIsAnsweredAtOnce() async throws {
        let test = TestPool(try await sharedOptions())
        let holder = try await connect()
        try holder.execute("SELECT pg_catalog.pg_advisory_lock(201)")
        async let working: Void = test.pool.run { connection throws(PostgresError) in
            try connection.execute("SELECT pg_catalog.pg_advisory_lock(201)")
        }
        try await test.reaches { $0.leased == 1 }
        let hasRun = Locked(false)
        let waiting = Task { try await test.pool.run { _ in hasRun.withLock { $0 = true } } }
        try await test.reaches { $0.waiting == 1 }
        waiting.cancel()
        let error = await #expect(throws: PostgresError.self) { try await waiting.value }
        #expect(error?.code == .cancelled)
        #expect(test.pool.counts == PostgresPoolCounts(sessions: 1, leased: 1, waiting: 0))
        try holder.execute("SELECT pg_catalog.pg_advisory_unlock(201)")
        try await working
        #expect(!hasRun.withLock { $0 })
        await test.pool.close()
    }

    @Test func whoIsCancelledAlreadyOpensNothing() async throws {
        let test = TestPool(try await sharedOptions())
        let gate = Mailbox<Void>()
        let task = Task {
            try await onThread { while gate.take() != nil {} }
            return try await test.backendPID()
        }
        task.cancel()
        gate.close()
        let error = await #expect(throws: PostgresError.self) { try await task.value }
        #expect(error?.code == .cancelled)
        #expect(test.pool.counts == PostgresPoolCounts(sessions: 0, leased: 0, waiting: 0))
        await test.pool.close()
    }

    @Test func aStatementThatRunsIsCancelledOnTheServer() async throws {
        let test = TestPool(try await sharedOptions())
        let watcher = try await connect()
        let first = try await test.backendPID()
        let sleeping = Task {
            try await test.pool.run { connection throws(PostgresError) in
                try connection.execute("SELECT pg_catalog.pg_sleep(600)")
            }
        }
        try watcher.waitUntil(
            "SELECT wait_event = 'PgSleep' FROM pg_catalog.pg_stat_activity WHERE pid = $1",
            String(first)
        )
        sleeping.cancel()
        let error = await #expect(throws: PostgresError.self) { try await sleeping.value }
        #expect(error?.code == .cancelled)
        #expect(error?.sqlState == "57014", "the server says that it took no effect")
        #expect(try await test.backendPID() != first, "the next caller is not hit")
        try watcher.waitUntil(
            "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE pid = $1)",
            String(first)
        )
        await test.pool.close()
    }

    @Test func nothingMoreIsSentOnceItIsCancelled() async throws {
        let test = TestPool(try await sharedOptions())
        let (begun, goOn) = (Mailbox<Void>(), Mailbox<Void>())
        let table = "public.cancelled_" + UUID().uuidString.prefix(8).lowercased()
        let errors = Locked<[PostgresError]>([])
        let working = Task {
            try await test.pool.run { connection throws(PostgresError) in
                try connection.transaction { connection throws(PostgresError) in
                    try connection.execute("CREATE TABLE \(table) (n integer)")
                    begun.close()
                    while goOn.take() != nil {}
                    do throws(PostgresError) {
                        try connection.execute("SELECT 1")
                    } catch {
                        // Code that ignores the cancellation cannot commit either.
                        errors.withLock { $0.append(error) }
                    }
                }
            }
        }
        try await onThread { while begun.take() != nil {} }
        working.cancel()
        goOn.close()
        let error = await #expect(throws: PostgresError.self) { try await working.value }
        #expect(error?.code == .cancelled)
        #expect(errors.withLock { $0.map(\.message) } == ["cancelled before the statement was sent"])
        #expect(try await connect().text("SELECT to_regclass($1)", String(table)) == nil)
        await test.pool.close()
    }

    @Test(.databaseOnOwnServer) func aServerThatDoesNotConfirmIsCutOff() async throws {
        let test = TestPool(
            PostgresOptions(url: TestDatabase.current.url),
            PostgresPoolOptions(connections: 1, cancelTimeout: .seconds(2))
        )
        let watcher = try TestDatabase.current.connect()
        let backend = try await test.backendPID()
        let sleeping = Task {
            try await test.pool.run { connection throws(PostgresError) in
                try connection.execute("SELECT pg_catalog.pg_sleep(600)")
            }
        }
        try watcher.waitUntil(
            "SELECT wait_event = 'PgSleep' FROM pg_catalog.pg_stat_activity WHERE pid = $1",
            String(backend)
        )
        // A suspended process does not handle the cancel request.
        kill(backend, SIGSTOP)
        defer { kill(backend, SIGCONT) }
        sleeping.cancel()
        #expect(test.pool.counts.leased == 1)
        test.advance(by: .seconds(2))
        let error = await #expect(throws: PostgresError.self) { try await sleeping.value }
        #expect(error?.code == .cancelled)
        #expect(error?.sqlState == nil, "nobody knows")
        #expect(try await test.backendPID() != backend)
        await test.pool.close()
    }

    @Test func stormsOfCancellationLoseNobody() async throws {
        let test = TestPool(
            try await sharedOptions(),
            PostgresPoolOptions(connections: 3, acquireTimeout: nil, cancelTimeout: .seconds(60))
        )
        let outcomes = await withTaskGroup { group in
            for number in 0..<200 {
                group.addTask { () -> Bool in
                    let task = Task {
                        try await test.pool.run { connection throws(PostgresError) in
                            try connection.query("SELECT pg_catalog.pg_sleep(0.002), $1", String(number)).rows[0][1]
                        }
                    }
                    if number.isMultiple(of: 3) { task.cancel() }
                    switch await task.result {
                    case .success(let text): return text == String(number)
                    case .failure(let error): return (error as? PostgresError)?.code == .cancelled && number % 3 == 0
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(outcomes.count == 200 && !outcomes.contains(false))
        try await test.reaches { $0.leased == 0 && $0.waiting == 0 }
        await test.pool.close()
    }
}

@Suite(.timeLimit(.minutes(5))) struct PoolClosingTests {
    @Test func closingWaitsForWorkAndRefusesTheRest() async throws {
        let test = TestPool(try await sharedOptions())
        let holder = try await connect()
        try holder.execute("SELECT pg_catalog.pg_advisory_lock(301)")
        let working = Task {
            try await test.pool.run { connection throws(PostgresError) in
                try connection.query("SELECT pg_catalog.pg_advisory_lock(301), 'done'").rows[0][1]
            }
        }
        try await test.reaches { $0.leased == 1 }
        let waiting = Task { try await test.backendPID() }
        try await test.reaches { $0.waiting == 1 }
        let closing = [Task { await test.pool.close() }, Task { await test.pool.close() }]
        let refused = await #expect(throws: PostgresError.self) { try await waiting.value }
        #expect(refused?.code == .poolClosed)
        #expect(refused?.isTransient == false)
        try holder.execute("SELECT pg_catalog.pg_advisory_unlock(301)")
        #expect(try await working.value == "done")
        for task in closing { await task.value }
        #expect(test.pool.counts == PostgresPoolCounts(sessions: 0, leased: 0, waiting: 0))
        try holder.waitUntilGone(test)
        let late = await #expect(throws: PostgresError.self) { try await test.backendPID() }
        #expect(late?.code == .poolClosed)
        await test.pool.close()
    }

    @Test func closingCancelsWhatTakesTooLong() async throws {
        let test = TestPool(
            try await sharedOptions(),
            PostgresPoolOptions(connections: 1, closeTimeout: .seconds(5), cancelTimeout: .seconds(60))
        )
        let working = Task {
            try await test.pool.run { connection throws(PostgresError) in
                try connection.execute("SELECT pg_catalog.pg_sleep(600)")
            }
        }
        try await connect().waitUntil(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_stat_activity
                WHERE application_name = $1 AND wait_event = 'PgSleep')
            """,
            test.name
        )
        let waiting = Task { try await test.backendPID() }
        try await test.reaches { $0.waiting == 1 }
        let closing = Task { await test.pool.close() }
        // The pool is closing, so the waiting caller gets an error.
        _ = await waiting.result
        test.advance(by: .seconds(5))
        let error = await #expect(throws: PostgresError.self) { try await working.value }
        #expect(error?.sqlState == "57014")
        await closing.value
    }

    @Test func closingGivesUpOnWorkThatDoesSomethingElse() async throws {
        let test = TestPool(try await sharedOptions())
        let begun = Mailbox<Void>()
        let goOn = Mailbox<Void>()
        let working = Task {
            try await test.pool.run { _ in
                begun.close()
                while goOn.take() != nil {}
                return 7
            }
        }
        // A lease whose work has not begun is taken back instead.
        try await onThread { while begun.take() != nil {} }
        let waiting = Task { try await test.backendPID() }
        try await test.reaches { $0.waiting == 1 }
        let closing = Task { await test.pool.close() }
        _ = await waiting.result
        test.advance(by: .seconds(60))
        await closing.value
        #expect(test.pool.counts.leased == 1)
        goOn.close()
        #expect(try await working.value == 7)
        try await connect().waitUntilGone(test)
    }

    @Test func aPoolThatNobodyHasAnyMoreEnds() async throws {
        var test: TestPool? = TestPool(try await sharedOptions(), PostgresPoolOptions(connections: 2))
        let watcher = try await connect()
        let backend = try await test?.backendPID()
        test = nil
        try watcher.waitUntil(
            "SELECT NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity WHERE pid = $1)",
            backend.map { String($0) }
        )
    }
}
