import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// The events of `watch_table`.
@Suite(.database)
struct WatchPayloadTests {
    @Test func insertUpdateDelete() throws {
        let shop = try WatchShop()
        #expect(
            try shop.payloads("INSERT INTO shop.orders VALUES (1, 'a', 1.5, 'n'), (2, NULL, NULL, 'n')") == [
                #"{"op": "insert", "new": {"id": 1, "total": 1.5, "status": "a"}, "table": "shop.orders"}"#,
                #"{"op": "insert", "new": {"id": 2, "total": null, "status": null}, "table": "shop.orders"}"#,
            ]
        )
        // Changes to and from NULL; the second statement changes nothing.
        let update =
            "UPDATE shop.orders SET status = CASE id WHEN 1 THEN NULL ELSE 'b' END; UPDATE shop.orders SET status = status"
        #expect(
            try shop.payloads(update) == [
                #"{"op": "update", "new": {"id": 1, "total": 1.5, "status": null}, "old": {"id": 1, "total": 1.5, "status": "a"}, "table": "shop.orders"}"#,
                #"{"op": "update", "new": {"id": 2, "total": null, "status": "b"}, "old": {"id": 2, "total": null, "status": null}, "table": "shop.orders"}"#,
            ]
        )
        #expect(
            try shop.payloads("DELETE FROM shop.orders WHERE id = 1") == [
                #"{"op": "delete", "old": {"id": 1, "total": 1.5, "status": null}, "table": "shop.orders"}"#
            ]
        )
    }

    @Test func aChangedKeyIsADeleteAndAnInsert() throws {
        let shop = try WatchShop()
        try shop.run(as: "web", "INSERT INTO shop.orders VALUES (1, 'a'), (3, 'c')")
        // The key 1 moves from one row to the other within the statement.
        #expect(
            try shop.payloads("UPDATE shop.orders SET id = id - 2") == [
                #"{"op": "delete", "old": {"id": 3, "total": null, "status": "c"}, "table": "shop.orders"}"#,
                #"{"op": "insert", "new": {"id": -1, "total": null, "status": "a"}, "table": "shop.orders"}"#,
                #"{"op": "update", "new": {"id": 1, "total": null, "status": "c"}, "old": {"id": 1, "total": null, "status": "a"}, "table": "shop.orders"}"#,
            ]
        )
    }

    @Test(arguments: [
        ("UPDATE shop.orders SET note = 'x'", ""),
        ("UPDATE shop.orders SET status = 'x' WHERE false; DELETE FROM shop.orders WHERE false", ""),
        ("TRUNCATE shop.orders", ""),
        ("BEGIN; INSERT INTO shop.orders VALUES (9); ROLLBACK", ""),
        (
            "BEGIN; SAVEPOINT s; INSERT INTO shop.orders VALUES (9); ROLLBACK TO s; INSERT INTO shop.orders VALUES (8); COMMIT",
            "order.changed=1"
        ),
        (
            "INSERT INTO shop.orders VALUES (1, 'u'), (10, 'i') ON CONFLICT (id) DO UPDATE SET status = excluded.status",
            "order.changed=2"
        ),
        (
            """
            MERGE INTO shop.orders AS o USING (VALUES (1), (2), (11)) AS v (id) ON o.id = v.id
            WHEN MATCHED AND v.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET status = 'm'
            WHEN NOT MATCHED THEN INSERT VALUES (v.id)
            """, "order.changed=3"
        ),
    ])
    func tells(_ sql: String, _ expected: String) throws {
        let shop = try WatchShop()
        try shop.run(as: "web", "INSERT INTO shop.orders VALUES (1, 'a'), (2, 'b')")
        #expect(try shop.counts(sql) == expected)
    }

    @Test func aHundredThousandRowsAreOneInsert() throws {
        let shop = try WatchShop()
        try shop.run(
            as: nil,
            """
            CREATE TABLE statements (n int); GRANT INSERT ON statements TO PUBLIC;
            CREATE FUNCTION count_statement() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN INSERT INTO fanfare.statements VALUES (1); RETURN NULL; END';
            CREATE TRIGGER count_statement AFTER INSERT ON fanfare.outbox FOR EACH STATEMENT EXECUTE FUNCTION count_statement();
            INSERT INTO shop.orders (id, status) SELECT g, 'bulk' FROM generate_series(1, 100000) AS g;
            TRUNCATE statements;
            """
        )
        // The plan is cached after some executions: a plan for a single row must also work for a hundred thousand.
        let single = String(repeating: "UPDATE shop.orders SET status = status || 'x' WHERE id = 1;", count: 7)
        let start = ContinuousClock.now
        #expect(try shop.counts(single + "UPDATE shop.orders SET status = 'y'") == "order.changed=100007")
        #expect(ContinuousClock.now - start < .seconds(30), "a nested loop would take hours")
        #expect(try shop.connection.number("SELECT count(*) FROM statements") == 8)
    }

    @Test func oddNamesAndACompositeKey() throws {
        let shop = try WatchShop()
        try shop.run(
            as: nil,
            #"CREATE SCHEMA "Odd schema" AUTHORIZATION {app}; GRANT USAGE ON SCHEMA "Odd schema" TO {web}"#
        )
        let table = #""Odd schema"."Weird ""Name' $$ %""#
        try shop.run(
            as: "app",
            """
            CREATE TABLE \(table) ("a ""b" int, "c'd %1$s" text, "new" text, op text, "table" text, n int, PRIMARY KEY (n, "a ""b"));
            SELECT fanfare.watch_table('\(table.replacing("'", with: "''"))', 'odd', ARRAY['c''d %1$s', 'new', 'op']);
            """
        )
        let new = #"{"n": 2, "op": "q", "new": "y", "a \"b": 1, "c'd %1$s": "x"}"#
        let old = new.replacing("\"q\"", with: "\"z\"")
        let name = #""\"Odd schema\".\"Weird \"\"Name' $$ %\"""#
        #expect(
            try shop.payloads("INSERT INTO \(table) VALUES (1, 'x', 'y', 'z', 't', 2); UPDATE \(table) SET op = 'q'")
                == [
                    #"{"op": "insert", "new": \#(old), "table": \#(name)}"#,
                    #"{"op": "update", "new": \#(new), "old": \#(old), "table": \#(name)}"#,
                ]
        )
    }

    @Test func typesWithoutEquality() throws {
        let shop = try WatchShop()
        // A server may be built without libxml.
        let xml = shop.connection.refusal("SELECT '<a/>'::xml") == nil ? "xml" : "text"
        try shop.run(
            as: "app",
            """
            CREATE TABLE shop.types (id int PRIMARY KEY, j json, x \(xml), p point, a text[],
                total int GENERATED ALWAYS AS (cardinality(a)) STORED, big text);
            SELECT fanfare.watch_table('shop.types', 'types', '{j,x,p,total}');
            INSERT INTO shop.types VALUES (1, '{"a":1}', '<a/>', '(1,2)', '{}', DEFAULT, repeat('long', 100000));
            """
        )
        let unchanged = #"UPDATE shop.types SET j = '{"a":1}', x = '<a/>', p = '(1,2)', big = big || 'x'"#
        #expect(try shop.counts(unchanged) == "")
        let changed =
            #"UPDATE shop.types SET j = '{"a":2}'; UPDATE shop.types SET x = '<b/>'; UPDATE shop.types SET a = '{b}'"#
        #expect(try shop.counts(changed) == "types=3")
    }

    @Test func theTableChanges() throws {
        let shop = try WatchShop()
        try shop.run(
            as: "app",
            """
            CREATE TABLE shop.live (id int PRIMARY KEY, a int, b int);
            SELECT fanfare.watch_table('shop.live', 'all'); SELECT fanfare.watch_table('shop.live', 'some', '{a}');
            INSERT INTO shop.live VALUES (1, 1);
            """
        )
        let change =
            "ALTER TABLE shop.live ADD d int DEFAULT 7; ALTER TABLE shop.live DROP b; ALTER TABLE shop.live RENAME TO alive"
        #expect(
            try shop.payloads(as: "app", "\(change); INSERT INTO shop.alive VALUES (2, 2)") == [
                #"{"op": "insert", "new": {"a": 2, "d": 7, "id": 2}, "table": "shop.alive"}"#,
                #"{"op": "insert", "new": {"a": 2, "id": 2}, "table": "shop.alive"}"#,
            ]
        )
    }

    @Test func partitions() throws {
        let shop = try WatchShop()
        try shop.run(
            as: "app",
            """
            CREATE TABLE shop.parts (id int, day int, v int, PRIMARY KEY (id, day)) PARTITION BY LIST (day);
            CREATE TABLE shop.parts_1 PARTITION OF shop.parts FOR VALUES IN (1);
            CREATE TABLE shop.parts_2 PARTITION OF shop.parts FOR VALUES IN (2);
            SELECT fanfare.watch_table('shop.parts', 'parts');
            """
        )
        let through =
            "INSERT INTO shop.parts VALUES (1, 1, 1), (2, 2, 2); UPDATE shop.parts SET v = v + 1; DELETE FROM shop.parts WHERE id = 1"
        #expect(try shop.counts(through) == "parts=5")
        #expect(try shop.counts("UPDATE shop.parts SET day = 1") == "parts=2", "its key changed")
        #expect(try shop.counts("UPDATE shop.parts_1 SET v = 9") == "", "written to the partition directly")
        var warnings: [String] = []
        shop.connection.noticeHandler = { warnings.append($0.message) }
        try shop.run(as: "app", "SELECT fanfare.watch_table('shop.parts_1', 'part')")
        #expect(warnings.contains { $0.contains("is a partition") })
        #expect(try shop.counts("UPDATE shop.parts_1 SET v = 10; UPDATE shop.parts SET v = 11") == "part=1 parts=1")
    }

    @Test func aTableWithoutKeyTellsInsertAndDelete() throws {
        let shop = try WatchShop()
        try shop.run(
            as: "app",
            """
            CREATE TABLE shop.items (order_id bigint REFERENCES shop.orders ON DELETE CASCADE);
            SELECT fanfare.watch_table('shop.items', 'item', operations => '{insert,delete}');
            """
        )
        let cascade =
            "INSERT INTO shop.orders VALUES (1); INSERT INTO shop.items VALUES (1), (1); DELETE FROM shop.orders"
        #expect(try shop.counts(cascade) == "item=4 order.changed=2")
    }
}
