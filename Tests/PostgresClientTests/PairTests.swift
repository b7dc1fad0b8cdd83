import PostgresClient
import TestKit
import Testing

private struct Numbers: PostgresStatement {
    static let name = "test_pair_numbers"
    static let sql = "SELECT n FROM pg_temp.numbers WHERE n >= $1 ORDER BY n"
    var least: Int32

    func bind(to binds: inout PostgresBinds) { binds.append(least) }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int32 { try row.int32(0) }
}

private struct Quotient: PostgresStatement {
    static let name = "test_pair_quotient"
    static let sql = "SELECT 12 / $1::int4"
    var divisor: Int32

    func bind(to binds: inout PostgresBinds) { binds.append(divisor) }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int32 { try row.int32(0) }
}

private struct Add: PostgresStatement {
    typealias Row = Void
    static let name = "test_pair_add"
    static let sql = "INSERT INTO pg_temp.numbers VALUES ($1)"
    var number: Int32

    func bind(to binds: inout PostgresBinds) { binds.append(number) }
}

/// Two statements in one round trip, and transactions that begin with such a pair.
struct PairTests {
    private func connectWithTable() async throws -> PostgresConnection {
        let connection = try await connect()
        try connection.execute("CREATE TEMP TABLE numbers (n integer); INSERT INTO numbers VALUES (1), (2), (3)")
        return connection
    }

    @Test func bothAnswer() async throws {
        let connection = try await connectWithTable()
        for _ in 0..<3 {
            let (numbers, quotients) = try connection.run(Numbers(least: 2), Quotient(divisor: 4))
            #expect(numbers == [2, 3])
            #expect(quotients == [3])
        }
        #expect(try connection.run(Numbers(least: 3)) == [3], "the session is as before")
    }

    @Test(arguments: [true, false])
    func anErrorOfEitherIsThrownAndTheSessionLives(first: Bool) async throws {
        let connection = try await connectWithTable()
        let error = #expect(throws: PostgresError.self) {
            if first {
                _ = try connection.run(Quotient(divisor: 0), Numbers(least: 1))
            } else {
                _ = try connection.run(Numbers(least: 1), Quotient(divisor: 0))
            }
        }
        #expect(error?.sqlState == "22012")
        #expect(error?.statement == "test_pair_quotient")
        #expect(try connection.run(Numbers(least: 1), Quotient(divisor: 3)) == ([1, 2, 3], [4]))
    }

    @Test func theTwoAreOneTransaction() async throws {
        let connection = try await connectWithTable()
        #expect(throws: PostgresError.self) { _ = try connection.run(Add(number: 9), Quotient(divisor: 0)) }
        #expect(try connection.run(Numbers(least: 9)) == [])
    }

    @Test func whatTheSessionForgotIsPreparedAgain() async throws {
        let connection = try await connectWithTable()
        #expect(try connection.run(Numbers(least: 3), Quotient(divisor: 2)) == ([3], [6]))
        try connection.execute("DEALLOCATE ALL")
        #expect(try connection.run(Numbers(least: 3), Quotient(divisor: 2)) == ([3], [6]))
    }

    @Test func aTransactionBeginsWithItsFirstStatement() async throws {
        let connection = try await connectWithTable()
        let seen = try connection.transaction(beginningWith: Numbers(least: 3)) {
            connection,
            rows throws(PostgresError) in
            try connection.run(Add(number: 4))
            return rows
        }
        #expect(seen == [3])
        #expect(throws: PostgresError.self) {
            try connection.transaction(beginningWith: Numbers(least: 3)) { connection, _ throws(PostgresError) in
                try connection.run(Add(number: 5))
                _ = try connection.run(Quotient(divisor: 0))
            }
        }
        #expect(throws: PostgresError.self) {
            try connection.transaction(beginningWith: Quotient(divisor: 0)) { _, _ in }
        }
        #expect(try connection.run(Numbers(least: 1)) == [1, 2, 3, 4], "outside of any transaction")
    }

    @Test func aSessionThatEndsInBetweenIsLost() async throws {
        let connection = try await connectWithTable()
        let other = try await connect()
        _ = try connection.run(Numbers(least: 1), Quotient(divisor: 1))
        _ = try other.query("SELECT pg_terminate_backend($1::int, 10000)", String(connection.backendPID))
        let error = #expect(throws: PostgresError.self) {
            _ = try connection.run(Numbers(least: 1), Quotient(divisor: 1))
        }
        #expect(error?.isConnectionLost == true)
    }
}
