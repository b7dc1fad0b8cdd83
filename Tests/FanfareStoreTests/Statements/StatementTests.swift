import Foundation
import PostgresClient
import Programs
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Compares the statements with `schema.sql`: a change of only one of them fails here.
@Suite(.database)
struct StatementTests {
    @Test func everyStatementRunsAgainstTheSchema() throws {
        let world = try World()
        for statement in try StatementCatalog(world).all {
            do {
                try exercise(statement, on: world.connection)
            } catch {
                Issue.record("\(statement.name): \(error)")
            }
        }
    }

    /// Runs and decodes in a transaction that is rolled back, and compares the parameters.
    private func exercise<Statement: BoundStatement>(
        _ statement: Statement,
        on connection: PostgresConnection
    ) throws {
        try connection.execute("BEGIN")
        defer { try? connection.execute("ROLLBACK") }
        let rows = try connection.run(statement)
        if Statement.Row.self != Void.self {
            #expect(!rows.isEmpty, "\(statement.name) returned nothing to decode")
        }
        let prepared = try connection.number(
            "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = $1",
            statement.name
        )
        let mentioned = statement.sql.matches(of: /\$(\d+)/).compactMap { Int($0.1) }
        #expect(Set(mentioned) == Set(1..<Int(prepared) + 1), "\(statement.name) binds what it does not name")
    }

    /// From its sixth execution on, a statement may get a generic plan, which checks all permissions that its text may
    /// need.
    ///
    /// A role must be able to repeat a statement for as long as its session lasts.
    @Test(arguments: ["emitter", "registrar", "author", "operator", "reader", "daemon"])
    func whatARoleMayDoOnceItMayDoAlways(role: String) throws {
        let world = try World()
        // The settings of sessions of the API and of the commands.
        try world.connection.execute("SET plan_cache_mode = auto; SET enable_seqscan = on")
        var allowed = 0
        for statement in try StatementCatalog(world).all {
            let first = refusal(of: statement, as: role, "auto", on: world.connection)
            guard first?.sqlState != "42501" else { continue }
            allowed += 1
            for mode in Array(repeating: "auto", count: 5) + ["force_generic_plan"] {
                let again = refusal(of: statement, as: role, mode, on: world.connection)
                #expect(again?.sqlState == first?.sqlState, "\(statement.name): \(again?.message ?? "")")
            }
        }
        #expect(allowed > 0)
    }

    /// Returns the error of a statement that a role may not run; its transaction is rolled back.
    private func refusal(
        of statement: some BoundStatement,
        as role: String,
        _ mode: String,
        on connection: PostgresConnection
    ) -> PostgresError? {
        do throws(PostgresError) {
            try connection.execute("BEGIN; SET LOCAL plan_cache_mode = \(mode); SET LOCAL ROLE fanfare_\(role)")
            defer { try? connection.execute("ROLLBACK") }
            _ = try connection.run(statement)
            return nil
        } catch {
            return error
        }
    }

    @Test func namesAreUniqueAndFitAnIdentifier() throws {
        let all = try StatementCatalog(World()).all
        let names = all.map(\.name)
        #expect(Set(names).count == names.count)
        for name in names { #expect(name.wholeMatch(of: /[a-z][a-z0-9_]{2,49}/) != nil, "\(name)") }
    }

    @Test func theCatalogIsComplete() throws {
        let listed = Set(try StatementCatalog(World()).all.map(\.name))
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
        var declared: Set<String> = []
        for target in ["FanfareStore", "FanfareRecords"] {
            let folder = root.appendingPathComponent("Sources/\(target)").path
            let files = FileManager.default.enumerator(atPath: folder)?.compactMap { $0 as? String } ?? []
            for file in files where file.hasSuffix(".swift") {
                let text = try String(contentsOfFile: "\(folder)/\(file)", encoding: .utf8)
                let types = text.matches(of: /static let name = "(\w+)"/).map { String($0.1) }
                let values = text.matches(of: /(?s)= Statement<.{1,400}?>\(\s*"(\w+)"/).map { String($0.1) }
                declared.formUnion(types + values)
            }
        }
        #expect(declared == listed)
        #expect(Set((StoreStatements.all + RecordsStatements.all).map(\.name)) == declared)
    }

    @Test func theLaboratoryPrintsThem() async throws {
        let lab = try FanfareBinary.path() + "-lab"
        let names = try await Command.run([lab, "statements"])
        let all = StoreStatements.all + RecordsStatements.all
        #expect(names.output == all.map { $0.name + "\n" }.sorted().joined())
        let one = try await Command.run([lab, "statements", PlanRound.name])
        #expect(one.output == PlanRound.sql + "\n" && one.status == 0)
        let none = try await Command.run([lab, "statements", "plan_nothing"])
        #expect(none.errors.contains("no statement is called 'plan_nothing'") && none.status == 64)
    }
}
