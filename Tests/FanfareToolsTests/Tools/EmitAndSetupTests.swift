import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCore
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

@Suite(.database) struct EmitToolTests {
    @Test func anEventIsStoredWithKeyAndTTL() async throws {
        let id = try await toolDatabase()
            .emit(
                type: "order.shipped",
                payload: #"{"id": 7, "note": "é"}"#,
                key: "k1",
                ttl: TimeSpan("4h"),
                trace: TraceContext(traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
            )
        let rows = try sql(
            "SELECT concat_ws(' ', type, key, ttl, encode(trace, 'hex'), payload) FROM fanfare.outbox WHERE id = $1",
            "\(id)"
        )
        let trace = "0af7651916cd43dd8448eb211c80319cb7ad6b716920333101"
        #expect(rows == [#"order.shipped k1 PT4H \#(trace) {"id": 7, "note": "é"}"#])
    }

    @Test(arguments: ["[1]", "7", "{", "", #"{"a": 1e999999}"#, #"{"a": "\u0000"}"#])
    func whatIsNoObjectIsAMistakeOfUsage(payload: String) async throws {
        let error = await #expect(throws: ToolError.self) {
            try await toolDatabase().emit(type: "t", payload: payload, key: nil, ttl: nil)
        }
        #expect(error?.kind == .usage)
        #expect(try sql("SELECT count(*) FROM fanfare.outbox") == ["0"])
    }

    @Test(arguments: ["", "a\nb", "a\u{7F}", String(repeating: "x", count: 256)])
    func aTypeThatNoRuleCanNameIsAMistakeOfUsage(type: String) async throws {
        let error = await #expect(throws: ToolError.self) {
            try await toolDatabase().emit(type: type, payload: "{}", key: nil, ttl: nil)
        }
        #expect(error?.kind == .usage)
        #expect(error?.hint.contains("255 bytes") == true)
        #expect(try sql("SELECT count(*) FROM fanfare.outbox") == ["0"])
    }

    @Test(arguments: ["order shipped", "pedido.enviado.ñ", String(repeating: "x", count: 255)])
    func aTypeThatARuleCanNameIsEmitted(type: String) async throws {
        _ = try await toolDatabase().emit(type: type, payload: "{}", key: nil, ttl: nil)
        #expect(try sql("SELECT type FROM fanfare.outbox") == [type])
    }

    @Test func aMissingRoleIsNamed() async throws {
        try await withRole(in: nil) { role throws in
            let error = await #expect(throws: ToolError.self) {
                try await toolDatabase(user: role).emit(type: "t", payload: "{}", key: nil, ttl: nil)
            }
            #expect(error?.kind == .configuration)
            #expect(error?.hint.contains("fanfare_emitter") == true)
        }
    }
}

@Suite(.database) struct SetupToolTests {
    @Test func aPlanSaysWhatIsThereAndWhatComes() async throws {
        let configuration = try toolConfiguration("installation: production")
        let plan = try await ToolDatabase(configuration, environment: [:]).migrationPlan(configuration)
        #expect(plan.from == Schema.versions.upperBound && plan.to == plan.from && plan.adopts)
        #expect(plan.text(isDone: false).contains("would claim the database for installation production"))
        try DatabaseSetup(configuration, environment: [:]).migrate()
        let again = try await ToolDatabase(configuration, environment: [:]).migrationPlan(configuration)
        #expect(!again.adopts)
    }

    @Test func aDatabaseWithoutSchemaIsPlannedAndRefusedByOthers() async throws {
        try sql("DROP SCHEMA fanfare CASCADE")
        let configuration = try toolConfiguration()
        let database = try ToolDatabase(configuration, environment: [:])
        let plan = try await database.migrationPlan(configuration)
        #expect(plan.from == nil && plan.adopts)
        let error = await #expect(throws: ToolError.self) { try await database.status() }
        #expect(error?.kind == .configuration)
        #expect(error?.hint == "Run `fanfare migrate`.")
    }

    @Test func whoMigratesAgainIsToldThatAllIsThere() async throws {
        let configuration = try toolConfiguration()
        let plan = try await ToolDatabase(configuration, environment: [:]).migrationPlan(configuration)
        let version = Schema.versions.upperBound
        #expect(plan.text(isDone: true).contains("loaded schema.sql again: schema version \(version), up to date"))
    }

    @Test func aNewerSchemaIsLeftAloneAndNoOutage() async throws {
        try sql("UPDATE fanfare.schema_version SET version = 99")
        let configuration = try toolConfiguration()
        let database = try ToolDatabase(configuration, environment: [:])
        let planned = await #expect(throws: ToolError.self) { try await database.migrationPlan(configuration) }
        let loaded = #expect(throws: ToolError.self) { try DatabaseSetup(configuration, environment: [:]).migrate() }
        for error in [planned, loaded] {
            #expect(error?.exitCode == 78)
            #expect(error?.reason.contains("schema version 99") == true)
            #expect(error?.hint.contains("newest Fanfare") == true)
        }
        #expect(try sql("SELECT version FROM fanfare.schema_version") == ["99"])
    }

    @Test func whoMayNotMigrateIsToldWhatItTakes() async throws {
        try await withRole(in: nil) { role in
            let error = #expect(throws: ToolError.self) {
                try DatabaseSetup(toolConfiguration(user: role), environment: [:]).migrate()
            }
            #expect(error?.exitCode == 78 && error?.hint.contains("CREATEROLE") == true)
        }
    }

    @Test func adoptionShowsBothIdentities() async throws {
        let database = try toolDatabase()
        #expect(try await database.adoption(as: "one").old == nil)
        try sql("SELECT fanfare.adopt('one')")
        try sql("UPDATE fanfare.installation SET database_oid = 1")
        let change = try await database.adoption(as: "two")
        #expect(change.old?.name == "one" && change.old?.databaseOID == 1)
        #expect(change.new.name == "two")
        #expect(change.new.databaseOID != 1)
        #expect(change.new.systemIdentifier == change.old?.systemIdentifier)
    }
}

@Suite struct ToolErrorTests {
    @Test(arguments: [
        ("42P01", ToolError.Kind.configuration), ("42501", .configuration), ("28P01", .configuration),
        ("3D000", .configuration), ("22P02", .failed), ("23505", .failed), ("42601", .failed), ("53300", .unavailable),
        ("57P03", .unavailable),
    ])
    func theServersWordDecidesTheExitCode(state: String, kind: ToolError.Kind) {
        let error = ToolError(PostgresError(.server, sqlState: state, message: "no"), at: "postgres:///app")
        #expect(error.kind == kind)
    }

    @Test func aURLThatCannotBeReadIsAMistakeAndNoOutage() throws {
        let broken = PostgresOptions(url: "postgres:///app?sslmod=require")
        let error = try #require(throws: PostgresError.self) { try PostgresConnection.open(broken) }
        #expect(ToolError(error, at: "here").exitCode == 78)
        #expect(DaemonError(databaseError: error).kind == .configuration, "serve does not wait for it")
    }

    @Test func aServerWithoutRoomSaysWhatToRaise() {
        let full = PostgresError(.connectionFailed, sqlState: "53300", message: "too many connections for role \"a\"")
        let error = ToolError(full, at: "postgres:///app")
        #expect(error.exitCode == 69)
        #expect(error.hint.contains("max_connections") && error.hint.contains("CONNECTION LIMIT"))
    }

    @Test func aServerThatDoesNotAnswerIsUnavailable() {
        let error = ToolError(PostgresError(.connectionFailed, message: "refused"), at: "postgres://user:***@host/app")
        #expect(error.exitCode == 69)
        #expect(error.description.contains("  where: postgres://user:***@host/app\n  fix: "))
    }

    @Test func theServersDetailIsNotShown() {
        let error = PostgresError(.server, sqlState: "23505", message: "twice", detail: "Key (token)=(secret)")
        #expect(!ToolError(error, at: "here").description.contains("secret"))
    }
}
