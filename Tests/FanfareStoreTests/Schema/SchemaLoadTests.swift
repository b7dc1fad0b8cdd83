import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

/// Loading the schema into databases of all kinds.
@Suite(.database)
struct SchemaLoadTests {
    /// Returns the file's statements one by one, as psql -f sends them.
    private func statements() -> [String] {
        var statements: [String] = []
        var current = ""
        var quote: Substring?
        for line in Schema.sql.split(separator: "\n", omittingEmptySubsequences: false) {
            if quote == nil, current.isEmpty, line.isEmpty || line.hasPrefix("--") { continue }
            current += line + "\n"
            for mark in line.matches(of: /\$[a-z]*\$/).map(\.output) {
                quote = quote == nil ? mark : quote == mark ? nil : quote
            }
            let isBody = current.contains("BEGIN ATOMIC") && !current.hasSuffix("\nEND;\n")
            guard quote == nil, line.hasSuffix(";"), !isBody else { continue }
            statements.append(current)
            current = ""
        }
        #expect(current.isEmpty && statements.count > 500)
        return statements
    }

    /// Settings of databases and roles that must not affect the file.
    static let settings = [
        "standard_conforming_strings = off", "backslash_quote = off", "default_transaction_read_only = on",
        "statement_timeout = '10ms'", "transaction_timeout = '10ms'", "default_transaction_isolation = serializable",
        "row_security = off", "search_path = ''", "check_function_bodies = off", "client_encoding = SJIS",
        "plpgsql.extra_errors = 'all'", "plpgsql.variable_conflict = use_column", "quote_all_identifiers = on",
        "array_nulls = off", "transform_null_equals = on", "DateStyle = 'German'",
    ]

    @Test(arguments: settings)
    func anyDatabaseTakesIt(setting: String) async throws {
        let parameter = String(setting.prefix { $0 != " " })
        let isKnown = try sql("SELECT current_setting($1, true) IS NOT NULL", parameter) == ["t"]
        guard isKnown || parameter.contains(".") else {
            #expect(parameter == "transaction_timeout", "which PostgreSQL 17 brought")
            return
        }
        try await withDatabase { name, url in
            let configuration = try toolConfiguration(url: url)
            try sql("ALTER DATABASE \"\(name)\" SET \(setting)")
            let session = try PostgresConnection.open(PostgresOptions(url: url, session: SessionSettings([])))
            defer { session.close() }
            for statement in statements() {
                if let error = session.refusal(statement) {
                    Issue.record("\(statement.prefix(200)): \(error)")
                    return
                }
            }
            // Without the setting, under which a busy machine may not answer in time.
            let plain = try PostgresConnection.open(PostgresOptions(url: url))
            defer { plain.close() }
            #expect(try plain.text("SELECT text_hash FROM fanfare.schema_version") == nil)
            for _ in 0..<2 { try DatabaseSetup(configuration, environment: [:]).migrate() }
        }
    }

    @Test func itIsKnownWhichTextWasLoaded() async throws {
        let connection = try TestDatabase.current.connect()
        let isOwn = { try connection.run(SQL.isLoadedFrom(Schema.sql)).first ?? nil }
        #expect(try isOwn() == true)
        try connection.execute(Schema.sql + "-- another one\n")
        #expect(try isOwn() == false)
        for statement in statements() { try connection.execute(statement) }
        #expect(try isOwn() == nil, "nobody sent it as a whole")
        try connection.execute(Schema.sql)
        #expect(try isOwn() == true)
    }

    @Test func noFunctionDependsOnHowTheSessionReadsLiterals() throws {
        let connection = try TestDatabase.current.connect()
        let loose = try connection.column(
            #"""
            SELECT p.proname || ': ' || m[1] FROM pg_proc AS p
            CROSS JOIN LATERAL regexp_replace(p.prosrc, '(^|\n)\s*--[^\n]*', '', 'g') AS code
            CROSS JOIN LATERAL regexp_matches(
                regexp_replace(code, '\mE''(?:[^''\\]|\\.|'''')*''', '', 'g'), '[^\n]*\\[^\n]*', 'g') AS m
            WHERE p.pronamespace = 'fanfare'::regnamespace
                AND NOT coalesce('standard_conforming_strings=on' = ANY (p.proconfig), false)
            """#
        )
        #expect(loose.isEmpty, "write E'' with the backslash doubled")
    }

    @Test func anotherEncodingIsRefusedInWords() async throws {
        try await withDatabase("ENCODING LATIN1 LOCALE 'C'") { _, url in
            let configuration = try toolConfiguration(url: url)
            let planned = await #expect(throws: ToolError.self) {
                try await ToolDatabase(configuration, environment: [:]).migrationPlan(configuration)
            }
            let loaded = #expect(throws: ToolError.self) {
                try DatabaseSetup(configuration, environment: [:]).migrate()
            }
            for error in [planned, loaded] {
                #expect(error?.reason == "this database's encoding is LATIN1, and pushes are UTF-8")
                #expect(error?.hint == "Create a database with ENCODING 'UTF8'." && error?.exitCode == 78)
            }
            let items = await Checkup(configuration, environment: [:]).items(online: false)
            let item = items.first { $0.name == "encoding" }
            #expect(item?.level == .fail && item?.detail == planned?.reason)
            // psql sends only ASCII before the check.
            let session = try PostgresConnection.open(PostgresOptions(url: url))
            defer { session.close() }
            var refusal: PostgresError?
            for statement in statements() where refusal == nil { refusal = session.refusal(statement) }
            #expect(refusal?.message == planned?.reason && refusal?.hint == planned?.hint)
        }
    }

    @Test func noEncodingAtAllIsWarnedAbout() async throws {
        try await withDatabase("ENCODING SQL_ASCII LOCALE 'C'") { _, url in
            let configuration = try toolConfiguration(url: url)
            let plan = try await ToolDatabase(configuration, environment: [:]).migrationPlan(configuration)
            #expect(plan.text(isDone: false).contains("warning: this database's encoding is SQL_ASCII"))
            #expect(plan.json(isDone: false)["warning"]?.stringValue == plan.warning && plan.warning != nil)
            try DatabaseSetup(configuration, environment: [:]).migrate()
            let items = await Checkup(configuration, environment: [:]).items(online: false)
            #expect(items.first { $0.name == "encoding" }?.level == .warn)
        }
    }
}
