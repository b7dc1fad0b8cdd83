import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// Loading the schema as roles with fewer rights than a superuser.
@Suite(.database)
struct SchemaLoaderTests {
    private func setup(_ role: String) throws -> DatabaseSetup {
        try DatabaseSetup(toolConfiguration(user: role), environment: [:])
    }

    /// From PostgreSQL 16 on, a role with CREATEROLE may not grant roles that another role created.
    @Test func aSecondManagerIsToldWhatToHaveGranted() async throws {
        try await withRole(in: nil) { role in
            try sql("ALTER ROLE \(role) CREATEROLE")
            defer { _ = try? sql("DROP OWNED BY \(role)") }
            let configuration = try toolConfiguration(user: role)
            let plan = try await ToolDatabase(configuration, environment: [:]).migrationPlan(configuration)
            #expect(plan.isHidden && plan.from == nil && !plan.adopts)
            #expect(plan.text(isDone: false).contains("schema version unknown → \(Schema.versions.upperBound)"))
            if try TestDatabase.current.connect().serverVersion >= 160_000 {
                let error = try #require(throws: ToolError.self) { try setup(role).migrate() }
                #expect(error.exitCode == 78)
                #expect(error.reason == "permission denied to grant role \"fanfare_owner\"")
                #expect(error.hint.contains("superuser run: GRANT fanfare_owner TO \(role);"), "\(error.hint)")
                let grant = /GRANT fanfare_[a-z_, ]+ TO \w+( WITH ADMIN OPTION)?/
                let commands = error.hint.matches(of: grant).map { String($0.output.0) }
                #expect(commands.count == 2, "\(error.hint)")
                for command in commands { try sql(command) }
            }
            #expect(try setup(role).migrate(), "it is adopted too")
            #expect(try !setup(role).migrate())
            let manager = try PostgresConnection.open(toolDatabase(user: role).options)
            defer { manager.close() }
            try manager.execute("CREATE ROLE \(role)_d; GRANT fanfare_daemon TO \(role)_d; DROP ROLE \(role)_d")
        }
    }

    @Test func aMemberOfTheOwnerNeedsNoMore() async throws {
        try await withRole(in: "fanfare_owner") { role in
            let mayCreate = try sql("SELECT has_database_privilege($1, current_database(), 'CREATE')", role)
            #expect(mayCreate == ["f"], "or this shows nothing")
            try setup(role).migrate()
        }
    }

    @Test func aRolesTimeOutDoesNotEndIt() async throws {
        try await withRole(in: "fanfare_owner") { role in
            try sql("ALTER ROLE \(role) SET statement_timeout = '100ms'")
            try setup(role).migrate()
        }
    }
}
