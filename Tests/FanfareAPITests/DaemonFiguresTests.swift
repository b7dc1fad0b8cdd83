import FanfareTools
import PostgresClient
import TestKit
import Testing

@testable import APIKit
@testable import FanfareAPI
@testable import FanfareHTTP

/// Checks that the number of clients does not change the number of queries.
@Suite(.database) struct DaemonFiguresTests {
    private struct Failure: Error {}

    @Test(arguments: [true, false])
    func theDatabaseIsAskedOnceForAllWhoScrapeAlsoWhereItFails(isThere: Bool) async throws {
        if !isThere {
            try await onThread { [database = TestDatabase.current] in
                try database.connect().execute("ALTER VIEW fanfare.health RENAME TO was_health")
            }
        }
        try await ToolDatabase(APIWorld.configuration(), environment: [:]).whileOpen { database in
            let figures = DaemonFigures(database, age: .seconds(3600))
            let told = await withTaskGroup(of: Bool.self) { tasks in
                for _ in 0..<16 { tasks.addTask { await figures.stored() != nil } }
                return await tasks.reduce(into: []) { $0.append($1) }
            }
            #expect(told == Array(repeating: isThere, count: 16))
            #expect(await (figures.stored() != nil) == isThere)
            #expect(await figures.query.reads == 1)
        }
    }

    /// A page that is opened again must work as soon as the database does.
    @Test func forPeopleAFailureCountsForThoseWhoWaitOnly() async throws {
        let query = SharedQuery<Int, Int>(.seconds(3600))
        await #expect(throws: Failure.self) { try await query.value(for: 0) { throw Failure() } }
        #expect(try await query.value(for: 0) { 1 } == 1)
        #expect(try await query.value(for: 0) { 2 } == 1)
    }
}
