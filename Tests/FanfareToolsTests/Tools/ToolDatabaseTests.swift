import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareExplain
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools

/// The session that commands share.
@Suite(.database) struct ToolDatabaseTests {
    private let yaml = """
        - name: all
          app: shop
          event: e
          to: { everyone: true }
          message: { notification: { title: T } }
        """

    private func sessions() throws -> [String?] {
        try sql(
            """
            SELECT count(*) FROM pg_catalog.pg_stat_activity
            WHERE datname = pg_catalog.current_database() AND application_name = 'fanfare'
            """
        )
    }

    @Test func manyCallsAtOnceShareOneSession() async throws {
        let database = try toolDatabase()
        #expect(try sessions() == ["0"], "nothing is connected before it is needed")
        let ids = try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask {
                    try await database.emit(type: "e", payload: #"{"n": \#(number)}"#, key: nil, ttl: nil)
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(ids.count == 20)
        #expect(try sessions() == ["1"])
        await database.close()
        let late = await #expect(throws: ToolError.self) { try await database.status() }
        #expect(late?.kind == .unavailable)
    }

    @Test func whatJudgingSetsIsGoneAfterwards() async throws {
        try await toolDatabase().whileOpen { database in
            let set = try RuleSet(RulesFile(yaml: yaml, named: "a.yaml").rules)
            let judgements = try await database.judge(set, ExampleEvent(payload: "{}"), toolConfiguration())
            #expect(judgements.map(\.isMatched) == [true])
            // The session was read-only before.
            #expect(try await database.emit(type: "e", payload: "{}", key: nil, ttl: nil) > 0)
        }
    }

    @Test func aSessionThatWasEndedMeanwhileIsReplaced() async throws {
        let database = try toolDatabase()
        _ = try await database.stored(RuleSet.self, app: nil)
        try sql(
            """
            SELECT pg_catalog.pg_terminate_backend(pid, 10000) FROM pg_catalog.pg_stat_activity
            WHERE datname = pg_catalog.current_database() AND application_name = 'fanfare'
            """
        )
        #expect(try await database.stored(RuleSet.self, app: nil).isEmpty)
        await database.close()
    }

    @Test func theServersNotesAreHeardEachTime() async throws {
        let heard = Locked<[String]>([])
        let database = try ToolDatabase(toolConfiguration(), environment: [:]) { note in
            heard.withLock { $0.append(note) }
        }
        for app in ["shop", "store"] {
            var registration = DeviceRegistration(app: app, provider: "apns", token: "aa01")
            registration.timeZone = "Mars/Base"
            _ = try await database.register(registration)
        }
        await database.close()
        let zone = "unknown time zone 'Mars/Base', registered without; Pass a name such as Europe/Madrid."
        let notes = heard.withLock { $0 }
        #expect(notes.count == 4 && notes.count { $0 == zone } == 2)
        for app in ["shop", "store"] { #expect(notes.contains { $0.hasPrefix("the app \"\(app)\" is new; ") }) }
    }

    @Test(arguments: [
        (PostgresError.Code.poolTimeout, ToolError.Kind.unavailable), (.poolClosed, .unavailable),
        (.cancelled, .failed), (.transactionLeftOpen, .failed),
    ])
    func whatThePoolSaysIsNoOutageOfPostgreSQL(code: PostgresError.Code, kind: ToolError.Kind) {
        let error = ToolError(PostgresError(code, message: "words"), at: "here")
        #expect(error.kind == kind && error.reason == "words")
        #expect(!error.hint.contains("Is PostgreSQL running"))
    }
}
