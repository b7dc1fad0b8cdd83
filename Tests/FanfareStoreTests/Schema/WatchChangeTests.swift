import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// Watched tables whose definition changes.
@Suite(.database)
struct WatchChangeTests {
    private static let watches = "SELECT name || ' ' || ok FROM fanfare.health WHERE name LIKE 'watch: %' ORDER BY name"

    @Test func whatIsRenamedOrDroppedIsLeftOutAndTheWatchIsNamed() throws {
        let shop = try WatchShop()
        try shop.run(as: "web", "INSERT INTO shop.orders VALUES (1, 'a', 1, 'n')")
        #expect(try shop.connection.column(Self.watches).isEmpty)
        try shop.run(as: "app", "ALTER TABLE shop.orders RENAME status TO state")
        #expect(
            try shop.payloads("INSERT INTO shop.orders VALUES (2, 'b', 2); DELETE FROM shop.orders WHERE id = 2") == [
                #"{"op": "delete", "old": {"id": 2, "total": 2}, "table": "shop.orders"}"#,
                #"{"op": "insert", "new": {"id": 2, "total": 2}, "table": "shop.orders"}"#,
            ]
        )
        // It cannot be known whether a watched column changed; an extra event is better than a lost one.
        let update =
            #"{"op": "update", "new": {"id": 1, "total": 1}, "old": {"id": 1, "total": 1}, "table": "shop.orders"}"#
        #expect(try shop.payloads("UPDATE shop.orders SET state = 'c'") == [update])
        #expect(try shop.payloads("UPDATE shop.orders SET state = state") == [])
        #expect(try shop.connection.column(Self.watches) == ["watch: shop.orders order.changed false"])
        let detail = try shop.connection.text("SELECT detail FROM fanfare.health WHERE name LIKE 'watch: %'")
        #expect(detail?.contains("(status)") == true && detail?.contains("watch_table") == true)

        try shop.run(as: "app", "ALTER TABLE shop.orders DROP state, DROP total")
        #expect(
            try shop.payloads("INSERT INTO shop.orders VALUES (3)") == [
                #"{"op": "insert", "new": {"id": 3}, "table": "shop.orders"}"#
            ]
        )
        try shop.run(as: "app", "SELECT fanfare.watch_table('shop.orders', 'order.changed', '{note}')")
        #expect(try shop.connection.column(Self.watches).isEmpty)
        #expect(try shop.counts("UPDATE shop.orders SET note = 'x' WHERE id = 3") == "order.changed=1")
    }

    /// Each session caches its plans, which were made for the key's old name.
    @Test func aRenamedKeyPairsRowsInEverySession() throws {
        let shop = try WatchShop()
        try shop.run(as: "app", "SELECT fanfare.watch_table('shop.orders', 'all')")
        try shop.run(as: "web", "INSERT INTO shop.orders VALUES (1, 'a'), (2, 'b')")
        for n in 0..<7 { try shop.run(as: "web", "UPDATE shop.orders SET status = '\(n)'") }
        try TestDatabase.current.connect().execute("ALTER TABLE shop.orders RENAME id TO number")
        let row = #"{"note": null, "total": null, "number": 1, "status": "x"}"#
        let old = row.replacing(#""x""#, with: #""6""#)
        #expect(
            try shop.payloads("UPDATE shop.orders SET status = 'x' WHERE number = 1") == [
                #"{"op": "update", "new": \#(row), "old": \#(old), "table": "shop.orders"}"#,
                #"{"op": "update", "new": {"total": null, "number": 1, "status": "x"}, "old": {"total": null, "number": 1, "status": "6"}, "table": "shop.orders"}"#,
            ]
        )
        try TestDatabase.current.connect().execute("ALTER TABLE shop.orders RENAME number TO id")
        #expect(try shop.connection.column(Self.watches).isEmpty)
        #expect(try shop.counts("UPDATE shop.orders SET note = 'x'") == "all=2")
    }

    @Test func withoutAKeyUpdatesAreToldByTheRowAfter() throws {
        let shop = try WatchShop()
        try shop.run(as: "web", "INSERT INTO shop.orders VALUES (1, 'a')")
        try shop.run(as: "app", "ALTER TABLE shop.orders DROP id")
        #expect(
            try shop.payloads("UPDATE shop.orders SET status = 'b'") == [
                #"{"op": "update", "new": {"total": null, "status": "b"}, "table": "shop.orders"}"#
            ]
        )
        #expect(try shop.counts("DELETE FROM shop.orders") == "order.changed=1")
    }

    @Test func aRestoredWatchWorksAsWell() throws {
        let shop = try WatchShop()
        // As after a dump and restore: the function contains the table's old oid.
        try rewrite(shop, "TG_RELID = [0-9]+", "TG_RELID = 1")
        #expect(try shop.counts("INSERT INTO shop.orders VALUES (1, 'a')") == "order.changed=1")
        try shop.run(as: "app", "ALTER TABLE shop.orders DROP total")
        #expect(
            try shop.payloads("UPDATE shop.orders SET status = 'b'") == [
                #"{"op": "update", "new": {"id": 1, "status": "b"}, "old": {"id": 1, "status": "a"}, "table": "shop.orders"}"#
            ]
        )
    }

    @Test func anEarlierVersionsWatchIsNamedBeforeItBreaks() throws {
        let shop = try WatchShop()
        try shop.run(as: "app", "SELECT fanfare.watch_table('shop.orders', 'all', NULL, '{insert}')")
        // A change that the owner makes to the function does not break the view for others.
        try rewrite(shop, "-- Needs [^\n]*\n", "-- Needs [not json].\n")
        #expect(try shop.connection.column(Self.watches).isEmpty)
        // With the function of an earlier version, a value that jsonb cannot hold fails the write.
        try rewrite(shop, "fanfare\\.watch_query_bare\\(", "fanfare.watch_query_now(")
        #expect(
            try shop.connection.column(Self.watches) == [
                "watch: shop.orders all true", "watch: shop.orders order.changed true",
            ]
        )
    }

    private func rewrite(_ shop: WatchShop, _ pattern: String, _ replacement: String) throws {
        for text in try shop.connection.column(
            "SELECT regexp_replace(pg_get_functiondef(oid), $1, $2) FROM pg_proc WHERE proname ~ '^fanfare_watch_'",
            pattern,
            replacement
        ) { try shop.connection.execute(text) }
    }
}
