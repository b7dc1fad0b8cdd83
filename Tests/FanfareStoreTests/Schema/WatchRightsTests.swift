import FanfareStore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The errors of `watch_table`, and the limits of the objects that it creates.
@Suite(.database)
struct WatchRightsTests {
    @Test func refusesWhatCannotBeWatched() throws {
        let shop = try WatchShop()
        try shop.run(
            as: "app",
            """
            CREATE TABLE shop.keyless (a int); CREATE VIEW shop.view AS SELECT 1 AS id;
            CREATE TABLE shop.late (id int PRIMARY KEY DEFERRABLE); CREATE TEMP TABLE brief (id int PRIMARY KEY);
            """
        )
        for (arguments, state, text) in [
            ("'shop.keyless', 'x'", "42P16", "no primary key"),
            ("'shop.late', 'x'", "42P16", "unique at once"),
            ("'shop.view', 'x'", "42809", "is not a table"),
            ("'pg_temp.brief', 'x'", "42809", "temporary"),
            (#"'shop.orders', 'x', ARRAY['status', 'Status', 'no"pe']"#, "42703", #"no column "Status", "no""pe""#),
            ("'shop.orders', 'x', '{ctid}'", "42703", "ctid"),
            ("'shop.orders', 'x', '{NULL}'", "42703", "NULL"),
            ("'shop.orders', 'x', '{}'", "22023", "empty"),
            ("'shop.orders', 'x', NULL, '{insert,truncate,UPDATE}'", "22023", "'truncate', 'UPDATE'"),
            ("'shop.orders', 'x', NULL, '{}'", "22023", "operations"),
            ("'shop.orders', 'x', NULL, NULL", "22023", "operations"),
            ("'shop.orders', ''", "22023", "is not an event type"),
            ("'shop.orders', NULL", "22023", "is not an event type"),
            ("'shop.orders', repeat('x', 256)", "22023", "is not an event type"),
            (#"'shop.orders', E'a\n'"#, "22023", "is not an event type"),
            ("NULL, 'x'", "42P01", "no such table"),
        ] {
            let error = shop.refusal(as: "app", "SELECT fanfare.watch_table(\(arguments))")
            #expect(error?.sqlState == state, "\(arguments)")
            #expect(error?.message.contains(text) == true, "\(arguments): \(error?.message ?? "allowed")")
            #expect(error?.hint?.isEmpty == false, "\(arguments)")
        }
        let own = shop.refusal(as: nil, "SELECT fanfare.watch_table('fanfare.outbox', 'x')")
        #expect(own?.sqlState == "42809")
    }

    @Test func onlyTheOwnerWatches() throws {
        let shop = try WatchShop()
        try shop.run(as: "mallory", "CREATE TABLE den.t (id int PRIMARY KEY)")
        for (role, sql, text) in [
            ("mallory", "SELECT fanfare.watch_table('den.t', 'x')", "permission denied for schema fanfare"),
            ("rival", "SELECT fanfare.watch_table('shop.orders', 'x')", "must be owner"),
            ("rival", "SELECT fanfare.unwatch_table('shop.orders')", "must be owner"),
            (nil, "SELECT fanfare.watch_table('den.t', 'x')", "may not emit"),
        ] as [(String?, String, String)] {
            let error = shop.refusal(as: role, sql)
            #expect(error?.sqlState == "42501", "\(sql)")
            #expect(error?.message.contains(text) == true, "\(sql): \(error?.message ?? "allowed")")
        }
    }

    @Test(arguments: ["web", "mallory", "rival"])
    func nobodyElseUsesTheTriggerFunction(_ thief: String) throws {
        let shop = try WatchShop()
        let function = try #require(
            try shop.connection.text(
                "SELECT DISTINCT tgfoid::regproc FROM pg_trigger WHERE tgrelid = 'shop.orders'::regclass AND NOT tgisinternal"
            )
        )
        for sql in [
            "SELECT \(function)()",
            """
            CREATE TEMP TABLE t (id int PRIMARY KEY, status text, total numeric, note text);
            CREATE TRIGGER t AFTER INSERT ON t REFERENCING NEW TABLE AS fanfare_new FOR EACH STATEMENT EXECUTE FUNCTION \(function)()
            """,
        ] {
            let error = shop.refusal(as: thief, sql)
            #expect(error?.sqlState == "42501")
            #expect(error?.message.contains("permission denied for function") == true)
        }
    }

    @Test(arguments: [
        ("web", "INSERT INTO fanfare.outbox (type, payload) VALUES ('x', '{}')"),
        ("web", "SELECT fanfare.wake()"),
        ("rival", "INSERT INTO fanfare.outbox (id, type, payload) VALUES (1, 'x', '{}')"),
        ("rival", "INSERT INTO fanfare.outbox (xid, type, payload) VALUES ('1', 'x', '{}')"),
        ("rival", "SELECT * FROM fanfare.outbox"), ("rival", "DELETE FROM fanfare.outbox"),
        ("rival", "SELECT setval('fanfare.event_sequence', 1)"),
    ])
    func theQueueIsClosed(_ role: String, _ sql: String) throws {
        #expect(try WatchShop().refusal(as: role, sql)?.sqlState == "42501")
    }

    @Test func aWriterCannotShadowNames() throws {
        let shop = try WatchShop()
        try shop.run(as: "web", "INSERT INTO shop.orders VALUES (2, 'x')")
        let told = try shop.payloads(
            """
            CREATE TEMP TABLE fanfare_new (id bigint, status text, total numeric, note text); INSERT INTO fanfare_new VALUES (666);
            CREATE TEMP TABLE outbox (type text, payload jsonb); CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (false);
            CREATE FUNCTION pg_temp.to_jsonb(anyelement) RETURNS jsonb LANGUAGE sql AS 'SELECT ''{}''::jsonb';
            SET search_path = pg_temp, pg_catalog;
            UPDATE shop.orders SET status = 'y'
            """
        )
        #expect(
            told == [
                #"{"op": "update", "new": {"id": 2, "total": null, "status": "y"}, "old": {"id": 2, "total": null, "status": "x"}, "table": "shop.orders"}"#
            ]
        )
    }

    @Test func aTypesOwnCodeRunsWithTheOwnersRightsAlsoIfASuperuserWatches() throws {
        let shop = try WatchShop()
        try shop.run(
            as: "app",
            """
            CREATE TYPE shop.trap AS ENUM ('x');
            CREATE TABLE shop.trapped (id int PRIMARY KEY, t shop.trap);
            CREATE TABLE shop.caught (who text); GRANT INSERT ON shop.caught TO PUBLIC;
            CREATE FUNCTION shop.spring(shop.trap) RETURNS json LANGUAGE plpgsql AS
                'BEGIN INSERT INTO shop.caught VALUES (current_user); RETURN ''1''; END';
            CREATE CAST (shop.trap AS json) WITH FUNCTION shop.spring(shop.trap);
            """
        )
        try shop.run(as: nil, "SELECT fanfare.watch_table('shop.trapped', 'trapped')")
        #expect(try shop.counts(as: nil, "INSERT INTO shop.trapped VALUES (1, 'x')") == "trapped=1")
        let who = try shop.connection.text("SELECT DISTINCT quote_ident(who) FROM shop.caught")
        #expect(who == shop.named("{app}"))
    }

    @Test func anEventThatCannotBeStoredAbortsTheStatement() throws {
        let shop = try WatchShop()
        try shop.run(as: "web", "INSERT INTO shop.orders VALUES (1, 'kept')")
        try shop.run(
            as: nil,
            "ALTER TABLE fanfare.outbox ADD CONSTRAINT full_up CHECK (type <> 'order.changed') NOT VALID"
        )
        let lost = "UPDATE shop.orders SET status = 'lost'"
        #expect(shop.refusal(as: "web", lost)?.constraint == "full_up")
        try shop.run(as: nil, "ALTER TABLE fanfare.outbox DROP CONSTRAINT full_up; REVOKE fanfare_emitter FROM {app}")
        #expect(shop.refusal(as: "web", lost)?.sqlState == "42501", "the owner lost his emit rights")
        #expect(try shop.connection.column("SELECT status FROM shop.orders") == ["kept"])
    }

    @Test func watchingAgainReplaces() throws {
        let shop = try WatchShop()
        let triggers = "SELECT count(*) FROM pg_trigger WHERE tgrelid = 'shop.orders'::regclass AND NOT tgisinternal"
        let functions = "SELECT count(*) FROM pg_proc WHERE proname ~ '^fanfare_watch_'"
        let locks =
            "SELECT count(*) FROM pg_locks WHERE relation = 'shop.orders'::regclass AND mode <> 'AccessShareLock'"
        try shop.connection.execute("BEGIN")
        try shop.connection.execute(
            "SELECT fanfare.watch_table('shop.orders', 'order.changed', '{total,status,total}', '{delete,update,insert}')"
        )
        #expect(try shop.connection.number(locks) == 0, "the same watch takes no lock")
        try shop.connection.execute("ROLLBACK")

        try shop.run(
            as: "app",
            "SELECT fanfare.watch_table('shop.orders', 'order.changed', '{note}', '{update,delete}')"
        )
        #expect(try shop.connection.number(triggers) == 2)
        #expect(try shop.connection.number(functions) == 1)
        let writes =
            "INSERT INTO shop.orders VALUES (1); UPDATE shop.orders SET status = 'x'; UPDATE shop.orders SET note = 'x'"
        #expect(try shop.counts(writes) == "order.changed=1")

        try shop.run(
            as: "app",
            "SELECT fanfare.watch_table('shop.orders', 'other'), fanfare.watch_table('shop.orders', 'third')"
        )
        #expect(try shop.counts("UPDATE shop.orders SET note = NULL") == "order.changed=1 other=1 third=1")
        try shop.run(as: "app", "SELECT fanfare.unwatch_table('shop.orders', 'other')")
        #expect(try shop.connection.number(functions) == 2)
        try shop.run(as: "app", "SELECT fanfare.unwatch_table('shop.orders')")
        #expect(try shop.connection.number(triggers) + shop.connection.number(functions) == 0)
        #expect(try shop.counts("UPDATE shop.orders SET note = 'y'") == "")
    }

    @Test func loadingTheSchemaAgainLeavesWatches() throws {
        let shop = try WatchShop()
        try shop.connection.execute(Schema.sql)
        #expect(try shop.counts("INSERT INTO shop.orders VALUES (1)") == "order.changed=1")
    }
}
