import PostgresClient
import TestKit
import Testing

private struct Wide: PostgresStatement {
    static let name = "test_wide"
    static let sql = "SELECT * FROM pg_temp.wide WHERE n = $1"
    var number: Int32

    func bind(to binds: inout PostgresBinds) { binds.append(number) }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int { row.columnCount }
}

private struct Touch: PostgresStatement {
    typealias Row = Void
    static let name = "test_touch"
    static let sql = "UPDATE pg_temp.wide SET n = n"
}

struct PreparedTests {
    private func connectWithTable() async throws -> PostgresConnection {
        let connection = try await connect()
        try connection.execute("CREATE TEMP TABLE wide (n integer); INSERT INTO wide VALUES (1), (1), (2)")
        return connection
    }

    private func prepared(_ connection: PostgresConnection) throws -> [[String?]] {
        try connection.query(
            """
            SELECT name, parameter_types::text, (generic_plans + custom_plans)::text
            FROM pg_catalog.pg_prepared_statements ORDER BY name
            """
        ).rows
    }

    @Test func aStatementIsPreparedOncePerSession() async throws {
        let connection = try await connectWithTable()
        for _ in 0..<3 { #expect(try connection.run(Wide(number: 1)) == [1, 1]) }
        #expect(try prepared(connection) == [["test_wide", "{integer}", "3"]])
    }

    @Test func affectedRowsAreCounted() async throws {
        let connection = try await connectWithTable()
        #expect(try connection.runReturningCount(Touch()) == 3)
        #expect(try connection.runReturningCount(Wide(number: 2)) == 1)
        try connection.run(Touch())
    }

    @Test func aForgottenStatementIsPreparedAgain() async throws {
        let connection = try await connectWithTable()
        #expect(try connection.run(Wide(number: 1)) == [1, 1])
        try connection.execute("DEALLOCATE ALL")
        #expect(try connection.run(Wide(number: 1)) == [1, 1])
        #expect(try connection.run(Wide(number: 2)) == [1])
    }

    @Test func aChangedResultIsPreparedAgain() async throws {
        let connection = try await connectWithTable()
        #expect(try connection.run(Wide(number: 1)) == [1, 1])
        try connection.execute("ALTER TABLE wide ADD COLUMN more text")
        #expect(try connection.run(Wide(number: 1)) == [2, 2])
    }

    @Test func insideATransactionTheNextOneWorks() async throws {
        let connection = try await connectWithTable()
        _ = try connection.run(Wide(number: 1))
        try connection.execute("ALTER TABLE wide ADD COLUMN more text")
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { connection in _ = try connection.run(Wide(number: 1)) }
        }
        #expect(error?.sqlState == "0A000")
        let columns = try connection.transaction { connection in try connection.run(Wide(number: 1)) }
        #expect(columns == [2, 2])
    }

    @Test func twoStatementsOfOneNameTrap() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            struct First: PostgresStatement {
                typealias Row = Void
                static let name = "same"
                static let sql = "SELECT 1"
            }
            struct Second: PostgresStatement {
                typealias Row = Void
                static let name = "same"
                static let sql = "SELECT 2"
            }
            let connection = try await connect()
            try connection.run(First())
            try connection.run(Second())
        }
        let complaint = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(complaint.contains("two statements are named same"))
    }
}
