import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The server truncates errors of authors' SQL, because a client would hold several copies of them.
@Suite(.database)
struct LongErrorTests {
    private static let long = "repeat(''x'', 20000000)"

    @Test(arguments: [
        "users_by_sql('SELECT (\(long) || ($1->>''a''))::int', '{\"a\": \"a\"}')",
        "badges('SELECT ''u'', \(long)::int', '{u}')",
        "audience('SELECT \(long)::int', 's')", "payloads('SELECT \(long)::json')",
    ])
    func longTextsAreCut(call: String) throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute(
            """
            CREATE FUNCTION public.caught(query text) RETURNS text LANGUAGE plpgsql AS $$
            DECLARE detail text;
            BEGIN EXECUTE query; RETURN ''; EXCEPTION WHEN data_exception THEN
                GET STACKED DIAGNOSTICS detail = PG_EXCEPTION_DETAIL; RETURN SQLSTATE || ' ' || greatest(length(SQLERRM), length(detail)); END $$
            """
        )
        try connection.execute("BEGIN READ ONLY")
        #expect(try connection.text("SELECT public.caught($1)", "SELECT fanfare.\(call)") == "22P02 2000")
        try connection.execute("COMMIT")
    }

    /// PostgreSQL's own errors keep their detail and hint.
    @Test func othersComeAsTheyAre() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute("BEGIN READ ONLY")
        let refusal = connection.refusal("SELECT fanfare.payloads('SELECT ''{\"a\": x}''::json')")
        #expect(refusal?.sqlState == "22P02" && refusal?.detail == #"Token "x" is invalid."#)
    }
}
