import PostgresClient
import TestKit
import Testing

struct SessionTests {
    @Test(arguments: [
        ("default_transaction_isolation", "read committed"), ("default_transaction_read_only", "off"),
        ("TimeZone", "UTC"), ("search_path", "fanfare, pg_catalog, pg_temp"),
        ("plan_cache_mode", "force_generic_plan"), ("enable_seqscan", "off"), ("jit", "off"),
        ("lock_timeout", "5s"), ("statement_timeout", "30s"), ("idle_in_transaction_session_timeout", "5s"),
    ])
    func settingsArePinnedOverTheDatabases(_ name: String, _ value: String) async throws {
        // The URL's options represent settings of a database or role: both are session defaults.
        let connection = try await connect(.queue) { options in
            options.url +=
                "&options=-c%20default_transaction_isolation%3Dserializable%20-c%20TimeZone%3DAsia/Tokyo"
                + "%20-c%20default_transaction_read_only%3Don%20-c%20enable_seqscan%3Don"
        }
        #expect(try connection.text("SELECT pg_catalog.current_setting($1)", name) == value)
    }

    @Test(arguments: [
        ("statement_timeout", "0"), ("standard_conforming_strings", "on"), ("transaction_timeout", "0"),
    ])
    func whatEndsStatementsAndReadsLiteralsIsPinned(_ name: String, _ value: String) async throws {
        // The last setting exists in PostgreSQL 17 and newer.
        let known = try await connect().text("SELECT string_agg(name, ' ') FROM pg_catalog.pg_settings") ?? ""
        let names = ["statement_timeout", "standard_conforming_strings", "transaction_timeout"]
            .filter { known.split(separator: " ").contains($0[...]) }
        let session = try await connect { options in
            let defaults = names.map { "-c%20\($0)%3D\($0.hasSuffix("s") ? "off" : "7s")" }
            options.url += "&options=" + defaults.joined(separator: "%20")
        }
        let there = try session.text("SELECT pg_catalog.current_setting($1, true)", name)
        #expect(there == (names.contains(name) ? value : nil))
    }

    @Test func slicesKeepTheNormalPlanner() async throws {
        let connection = try await connect(.slices)
        #expect(try connection.text("SHOW enable_seqscan") == "on")
        #expect(try connection.text("SHOW plan_cache_mode") == "auto")
    }

    @Test func aSettingCanBeReplaced() async throws {
        let connection = try await connect(.queue.setting("lock_timeout", to: "7s"))
        #expect(try connection.text("SHOW lock_timeout") == "7s")
    }

    @Test func unknownSettingsAreRefusedAtConnect() async throws {
        let error = await #expect(throws: PostgresError.self) {
            _ = try await connect(.plain.setting("no_such_setting", to: "1"))
        }
        #expect(error?.sqlState == "42704")
    }

    @Test func aSessionKnowsItself() async throws {
        let connection = try await connect()
        #expect(try connection.text("SELECT pg_catalog.pg_backend_pid()") == String(connection.backendPID))
        #expect(!connection.isPooled)
        #expect(connection.serverVersion >= 150_000)
        #expect(try connection.text("SHOW application_name") == "test")
        #expect(try connection.text("SHOW server_encoding") == "UTF8")
    }

    @Test func noticesReachTheHandler() async throws {
        let connection = try await connect()
        var notices: [PostgresNotice] = []
        connection.noticeHandler = { notices.append($0) }
        try connection.execute("DO $$ BEGIN RAISE WARNING 'mind %', 'this' USING HINT = 'so'; END $$")
        #expect(notices.map(\.message) == ["mind this"])
        #expect(notices.map(\.severity) == ["WARNING"])
        #expect(notices.map(\.hint) == ["so"])
    }

    @Test func adHocQueriesGiveText() async throws {
        let connection = try await connect()
        let table = try connection.query("SELECT 1 AS a, NULL AS b, $1::text || 'x' AS c", "é")
        #expect(table.columns == ["a", "b", "c"])
        #expect(table.rows == [["1", nil, "éx"]])
        #expect(table.commandTag == "SELECT 1")
        #expect(try connection.quoteIdentifier("a\"B") == "\"a\"\"B\"")
    }

    @Test func severalStatementsAreOneTransaction() async throws {
        let connection = try await connect()
        #expect(throws: PostgresError.self) { try connection.execute("CREATE TEMP TABLE t (); SELECT 1/0") }
        #expect(try connection.text("SELECT to_regclass('pg_temp.t')") == nil)
        try connection.execute("CREATE TEMP TABLE t (); DROP TABLE t;")
        try connection.execute("")
    }
}

struct TransactionTests {
    struct Swallowed: Error {}

    @Test func whatReturnsIsCommitted() async throws {
        let connection = try await connect()
        try connection.execute("CREATE TEMP TABLE t (n integer)")
        let inserted = try connection.transaction { connection in
            try connection.query("INSERT INTO t VALUES (1), (2)").commandTag
        }
        #expect(inserted == "INSERT 0 2")
        #expect(try connection.text("SELECT count(*) FROM t") == "2")
    }

    @Test func whatThrowsIsRolledBack() async throws {
        let connection = try await connect()
        try connection.execute("CREATE TEMP TABLE t (n integer)")
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { (connection) throws(PostgresError) in
                try connection.execute("INSERT INTO t VALUES (1)")
                try connection.execute("SELECT 1/0")
            }
        }
        #expect(error?.sqlState == "22012")
        #expect(throws: Swallowed.self) {
            try connection.transaction(throwingAny: { connection in
                try connection.execute("INSERT INTO t VALUES (1)")
                throw Swallowed()
            })
        }
        #expect(try connection.text("SELECT count(*) FROM t") == "0")
    }

    @Test func aSwallowedErrorDoesNotLookCommitted() async throws {
        let connection = try await connect()
        let error = #expect(throws: PostgresError.self) {
            try connection.transaction { connection in try? connection.execute("SELECT 1/0") }
        }
        #expect(error?.sqlState == "25P02")
        #expect(try connection.text("SELECT 1") == "1")
    }
}
