import FanfareStore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// A watch never fails its application's write because of the row's values or the table's columns.
@Suite(.database)
struct WatchHostileTests {
    private static let events = """
        SELECT * FROM (
            SELECT CASE jsonb_typeof(payload) WHEN 'object' THEN concat_ws(' ', payload ->> 'op', payload ->> 'new', payload ->> 'old')
                ELSE concat_ws(' ', 'refused', payload -> 2 ->> 'op', payload ->> 1) END AS told
            FROM fanfare.outbox
        ) AS e ORDER BY told COLLATE "C"
        """

    @Test(arguments: HostileTable.json + HostileTable.types + HostileTable.changes)
    func theWriteGoesOn(_ table: HostileTable) throws {
        let shop = try WatchShop()
        guard try shop.connection.text(table.needs) == "t" else { return }
        try shop.run(as: "app", "SET search_path = shop;\n\(table.made)")
        try shop.connection.execute("TRUNCATE fanfare.outbox")
        try shop.run(as: "web", "SET search_path = shop;\n\(table.write)")
        #expect(try shop.connection.column(Self.events) == table.told)
    }

    @Test func theEventEndsAsRefusedWithTheColumn() throws {
        let shop = try WatchShop()
        let world = try World()
        try shop.run(
            as: "app",
            "CREATE TABLE shop.t (id int PRIMARY KEY, j json); SELECT fanfare.watch_table('shop.t', 'hostile')"
        )
        try shop.run(as: "web", #"INSERT INTO shop.t VALUES (1, '"\u0000"'), (2, '"told"')"#)
        try world.plan()
        let fates = try shop.connection.column(
            "SELECT concat_ws(' ', fate, detail) FROM fanfare.events WHERE type = 'hostile' ORDER BY id"
        )
        #expect(
            fates == [
                "refused shop.t: column j cannot be emitted: SQLSTATE 22P05, for example a NUL in json", "unmatched",
            ]
        )
        // The operator can find the row by the values in the event.
        #expect(
            try shop.connection.text(
                "SELECT payload -> 2 ->> 'new' FROM fanfare.events WHERE type = 'hostile' ORDER BY id LIMIT 1"
            ) == #"{"id": 1}"#
        )
    }

    @Test func aReasonDoesNotQuoteTheValue() throws {
        let table = try #require(HostileTable.types.first { $0.name == "a cast to json that raises" })
        let shop = try WatchShop()
        try shop.run(as: "app", "SET search_path = shop;\n\(table.made)")
        try shop.run(as: "web", "INSERT INTO shop.t VALUES (1, 'bad')")
        let row = try shop.connection.query("SELECT payload ->> 1, payload -> 2 ->> 'errors' FROM fanfare.outbox").rows[
            0
        ]
        #expect(row[0] == "shop.t: column m cannot be emitted: SQLSTATE P0001")
        #expect(row[1] == #"{"m": "secret bad"}"#)
    }

    /// In the payload a value is nested two levels deeper than in its column, which may be too deep for jsonb.
    @Test func nestedAsDeepAsTheStackAllows() throws {
        let shop = try WatchShop()
        try shop.run(
            as: "app",
            "CREATE TABLE shop.t (id int PRIMARY KEY, j jsonb); SELECT fanfare.watch_table('shop.t', 'hostile')"
        )
        try shop.run(as: nil, "SET max_stack_depth = '256kB'")
        try shop.run(
            as: "web",
            """
            DO $$
            DECLARE
                x jsonb := '1';
            BEGIN
                LOOP x := jsonb_build_array(x); END LOOP;
            EXCEPTION WHEN statement_too_complex THEN
                INSERT INTO shop.t VALUES (1, x);
            END $$
            """
        )
        #expect(
            try shop.connection.column(Self.events) == [
                "refused insert shop.t: column j cannot be emitted: SQLSTATE 54001, for example a value that is nested too deeply"
            ]
        )
    }

    @Test func aKeyWhoseEqualityRaises() throws {
        let shop = try WatchShop()
        // Only a superuser may create an operator class.
        try shop.run(as: nil, "SET search_path = shop;\n\(Self.raisingKey)")
        try shop.run(as: "web", "INSERT INTO shop.t VALUES (ROW(7), 1); UPDATE shop.t SET n = 2; DELETE FROM shop.t")
        #expect(
            try shop.connection.column(Self.events) == [
                #"delete {"n": 2, "id": {"n": 7}}"#, #"insert {"n": 1, "id": {"n": 7}}"#,
                "refused update shop.t: the row cannot be emitted: SQLSTATE 22012",
            ]
        )
    }

    private static let raisingKey = """
        CREATE TYPE k AS (n int);
        CREATE FUNCTION cmp(k, k) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT pg_catalog.btint4cmp(($1).n, ($2).n)';
        CREATE FUNCTION lt(k, k) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT ($1).n < ($2).n';
        CREATE FUNCTION eq(k, k) RETURNS bool LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE division_by_zero; END';
        CREATE FUNCTION hash(k) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE division_by_zero; END';
        CREATE OPERATOR === (LEFTARG = k, RIGHTARG = k, FUNCTION = eq, COMMUTATOR = ===, HASHES);
        CREATE OPERATOR <<< (LEFTARG = k, RIGHTARG = k, FUNCTION = lt);
        CREATE OPERATOR CLASS b DEFAULT FOR TYPE k USING btree AS
            OPERATOR 1 <<<, OPERATOR 3 ===, FUNCTION 1 cmp(k, k);
        CREATE OPERATOR CLASS h DEFAULT FOR TYPE k USING hash AS OPERATOR 1 ===, FUNCTION 1 hash(k);
        CREATE TABLE t (id k PRIMARY KEY, n int); GRANT ALL ON t TO {web};
        SELECT fanfare.watch_table('t', 'hostile');
        """

    @Test(arguments: [
        ("RAISE query_canceled", "57014"), ("RAISE serialization_failure", "40001"), ("RAISE out_of_memory", "53200"),
        ("RAISE lock_not_available", "55P03"),
    ])
    func whatIsNotTheRowsStillFailsTheWrite(_ statement: String, _ state: String) throws {
        let table = try #require(HostileTable.types.first { $0.name == "a cast that asserts" })
        let shop = try WatchShop()
        try shop.run(as: "app", "SET search_path = shop;\n\(table.made.replacing("ASSERT false", with: statement))")
        #expect(shop.refusal(as: "web", "INSERT INTO shop.t VALUES (1, 'bad')")?.sqlState == state)
        #expect(try shop.counts("INSERT INTO shop.t VALUES (2, 'good')") == "hostile=1")
    }

    @Test func aLostRightFailsTheWrite() throws {
        let shop = try WatchShop()
        try shop.run(as: nil, "REVOKE fanfare_emitter FROM {app}")
        #expect(shop.refusal(as: "web", "INSERT INTO shop.orders VALUES (1)")?.sqlState == "42501")
    }

    @Test func aListThatNamesWhatIsComputedIsRefused() throws {
        let shop = try WatchShop()
        guard try shop.connection.text(HostileTable.virtual) == "t" else { return }
        try shop.run(as: "app", "CREATE TABLE shop.t (id int PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a * 2))")
        let error = shop.refusal(as: "app", "SELECT fanfare.watch_table('shop.t', 'hostile', '{a,b}')")
        #expect(error?.message == "watch_table: b is a virtual generated column, which triggers do not see")
        #expect(error?.hint == "Make it STORED, or name the columns that it is computed from.")
    }

    @Test func aComputedColumnThatCameLaterIsNamed() throws {
        let shop = try WatchShop()
        guard try shop.connection.text(HostileTable.virtual) == "t" else { return }
        let health = "SELECT detail FROM fanfare.health WHERE name = 'watch: shop.t hostile'"
        try shop.run(
            as: "app",
            """
            CREATE TABLE shop.t (id int PRIMARY KEY); SELECT fanfare.watch_table('shop.t', 'hostile');
            ALTER TABLE shop.t ADD b int GENERATED ALWAYS AS (id * 2)
            """
        )
        #expect(try shop.connection.text(health)?.contains("virtual generated columns (b)") == true)
        try shop.run(as: "app", "SELECT fanfare.watch_table('shop.t', 'hostile')")
        #expect(try shop.connection.column(health).isEmpty)
    }

    /// In Turkish, the upper case of `insert` is not the name of the operation.
    @Test func aTurkishDatabaseTellsInserts() async throws {
        let shop = try WatchShop()
        guard try shop.connection.text("SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'tr-x-icu')") == "t"
        else { return }
        try await withDatabase("LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LOCALE 'C.UTF-8' ENCODING 'UTF8'") { _, url in
            let turkish = try PostgresConnection.open(PostgresOptions(url: url))
            defer { turkish.close() }
            try turkish.execute(Schema.sql)
            try turkish.execute(
                """
                CREATE TABLE public.t (id int PRIMARY KEY, i int); SELECT fanfare.watch_table('public.t', 'hostile');
                INSERT INTO public.t VALUES (1, 1); UPDATE public.t SET i = 2; ALTER TABLE public.t RENAME id TO key;
                DELETE FROM public.t; INSERT INTO public.t VALUES (2, 2)
                """
            )
            #expect(
                try turkish.column("SELECT payload ->> 'op' FROM fanfare.outbox ORDER BY id") == [
                    "insert", "update", "delete", "insert",
                ]
            )
        }
    }
}
