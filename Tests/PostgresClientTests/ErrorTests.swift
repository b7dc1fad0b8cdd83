import PostgresClient
import TestKit
import Testing

/// A text that must never appear in a log.
private let secret = "s3cr3t-token"

/// Returns one bound text at the place where `sql` uses it.
private struct Misuse: PostgresStatement {
    static let name = "test_misuse"
    static let sql = "SELECT $1::text::integer"

    func bind(to binds: inout PostgresBinds) { binds.append(secret) }

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> Int32 { try row.int32(0) }
}

private struct FourColumns: PostgresStatement {
    static let name = "test_four_columns"
    static let sql = "SELECT 1::bigint AS one, NULL::bigint AS nothing, '{1,NULL}'::bigint[], '{{1},{2}}'::bigint[]"

    static func decode(_ row: borrowing PostgresRow) throws(PostgresError) -> String {
        var messages: [String] = []
        do { _ = try row.string(0) } catch { messages.append(error.message) }
        do { _ = try row.int64(1) } catch { messages.append(error.message) }
        do { _ = try row.read(2) as [Int64] } catch { messages.append(error.message) }
        do { _ = try row.read(3) as [Int64] } catch { messages.append(error.message) }
        do { _ = try row.int64(4) } catch { messages.append(error.message) }
        do { _ = try row.read(0) as [Int64] } catch { messages.append(error.message) }
        return messages.joined(separator: "\n")
    }
}

struct ErrorTests {
    @Test func dataErrorsKeepTheValueOutOfTheDescription() async throws {
        let connection = try await connect()
        let error = try #require(throws: PostgresError.self) { try connection.run(Misuse()) }
        #expect(error.code == .server)
        #expect(error.sqlState == "22P02")
        #expect(error.statement == "test_misuse")
        #expect(!error.description.contains(secret))
        #expect(error.debugDescription.contains(secret))
        #expect(!error.isTransient && !error.isConnectionLost)
    }

    @Test func violationsNameTheConstraintAndHideTheRow() async throws {
        let connection = try await connect()
        try connection.execute("CREATE TEMP TABLE t (id text CONSTRAINT short_id CHECK (length(id) < 3))")
        let error = try #require(throws: PostgresError.self) {
            try connection.query("INSERT INTO t VALUES ($1)", secret)
        }
        #expect(error.sqlState == "23514")
        #expect(error.constraint == "short_id")
        #expect(error.detail?.contains(secret) == true)
        #expect(!error.description.contains(secret))
        #expect(error.description.contains("short_id"))
    }

    @Test func raisedExceptionsCountAsData() async throws {
        let connection = try await connect()
        let error = try #require(throws: PostgresError.self) {
            try connection.execute(
                "DO $$ BEGIN RAISE 'token \"\(secret)\" is bad' USING HINT = 'not \"\(secret)\"'; END $$"
            )
        }
        #expect(error.sqlState == "P0001")
        #expect(!error.description.contains(secret))
        #expect(error.message.contains(secret))
    }

    @Test func missingObjectsAreNamed() async throws {
        let connection = try await connect()
        let error = try #require(throws: PostgresError.self) { try connection.execute("SELECT FROM no_such_table") }
        #expect(error.sqlState == "42P01")
        #expect(error.description.contains("no_such_table"))
    }

    @Test func mismatchesNameTheColumn() async throws {
        let connection = try await connect()
        let messages = try #require(try connection.run(FourColumns()).first).split(separator: "\n")
        #expect(
            messages == [
                "column 0 (one): type 20 came where text was expected",
                "column 1 (nothing): it is NULL",
                "column 2 (int8): its bytes are not a bigint[] without NULLs",
                "column 3 (int8): its bytes are not a bigint[] without NULLs",
                "column 4 (no such column): the statement returns 4 columns",
                "column 0 (one): type 20 came where bigint[] without NULLs was expected",
            ]
        )
    }

    /// Authors' SQL determines the text of its errors.
    @Test(arguments: ["x", "é", "\u{1F600}"])
    func longTextsAreCut(character: String) async throws {
        let connection = try await connect()
        var notice: String?
        connection.noticeHandler = { notice = $0.message }
        let words = "repeat('\(character)', 1000000)"
        let error = try #require(throws: PostgresError.self) {
            try connection.execute(
                """
                DO $$ BEGIN RAISE WARNING '%', \(words);
                RAISE EXCEPTION '%', \(words) USING DETAIL = \(words), HINT = \(words); END $$
                """
            )
        }
        for text in [error.message, error.detail, error.hint, notice] {
            let text = try #require(text)
            #expect(text.utf8.count <= 2051 && text.utf8.count > 2040)
            #expect(text.hasPrefix(character) && text.hasSuffix(character + "…"))
        }
    }

    @Test func copyIsRefused() async throws {
        let connection = try await connect()
        let error = try #require(throws: PostgresError.self) { try connection.execute("COPY (SELECT 1) TO STDOUT") }
        #expect(error.code == .protocolMismatch)
        #expect(connection.isClosed)
    }

    @Test func nulInAnAdHocBindIsRefused() async throws {
        let connection = try await connect()
        let error = try #require(throws: PostgresError.self) { try connection.query("SELECT $1", "a\0b") }
        #expect(error.code == .protocolMismatch)
        #expect(try connection.query("SELECT $1::text", "ab").rows == [["ab"]])
    }

    @Test(arguments: [
        ("55P03", true), ("40001", true), ("40P01", true), ("53300", true), ("57P01", true), ("57P03", true),
        ("25006", true), ("25P02", false),
        ("57014", false), ("22P02", false), ("23505", false), ("42P01", false), ("28P01", false),
    ])
    func transienceGoesBySQLState(_ sqlState: String, _ isTransient: Bool) {
        #expect(PostgresError(.server, sqlState: sqlState, message: "").isTransient == isTransient)
        #expect(PostgresError(.connectionLost, sqlState: sqlState, message: "").isTransient)
    }

    @Test func aSilentFailureToConnectIsTransient() {
        #expect(PostgresError(.connectionFailed, message: "").isTransient)
        #expect(!PostgresError(.connectionFailed, sqlState: "28P01", message: "").isTransient)
        #expect(!PostgresError(.protocolMismatch, message: "").isTransient)
    }
}
