import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// Functions that are called thousands of times in one statement, with plans made while the tables were nearly empty.
@Suite(.database)
struct BulkTests {
    private static let calls = 300

    /// Statements of ``calls`` calls each, in an order in which each finds the rows that it changes.
    private static let statements = [
        "SELECT count(fanfare.register_device('shop', 'apns', md5(n::text), 'u' || n)) FROM generate_series(1, $1) AS n",
        "SELECT count(fanfare.register_device('shop', 'apns', md5(n::text), 'u' || n)) FROM generate_series(1, $1) AS n",
        """
        SELECT count(fanfare.register_device('shop', 'apns', md5('new' || n), 'u' || n, replaces => md5(n::text)))
        FROM generate_series(1, $1) AS n
        """,
        "SELECT count(fanfare.device_id('shop', 'apns', md5('new' || n))) FROM generate_series(1, $1) AS n",
        "SELECT count(fanfare.subscribe(id, 'topic-' || id)) FROM fanfare.devices WHERE $1 > 0",
        "SELECT count(fanfare.subscribe(ARRAY[id], 'all')) FROM fanfare.devices WHERE $1 > 0",
        "SELECT count(fanfare.unsubscribe(id, 'all')) FROM fanfare.devices WHERE $1 > 0",
        "SELECT count(fanfare.unregister_device('shop', 'apns', md5('new' || n))) FROM generate_series(1, $1) AS n",
        "SELECT count(fanfare.forget_user('shop', 'u' || n)) FROM generate_series(1, $1) AS n",
        """
        SELECT count(fanfare.put_rule(jsonb_build_object('app', 'shop', 'name', 'r' || n, 'event', 'e',
            'to', '{"users": "$.u"}'::jsonb, 'message', '{"notification": {"title": "T"}}'::jsonb)))
        FROM generate_series(1, $1) AS n
        """,
        """
        SELECT count(fanfare.put_rule(jsonb_build_object('app', 'shop', 'name', 'r' || n, 'event', 'e',
            'to', '{"users": "$.u"}'::jsonb, 'message', '{"notification": {"title": "U"}}'::jsonb)))
        FROM generate_series(1, $1) AS n
        """,
        "SELECT count(fanfare.rule_from_file('shop', 'r' || n)) FROM generate_series(1, $1) AS n",
        "SELECT count(fanfare.drop_rule('shop', 'r' || n)) FROM generate_series(1, $1) AS n",
    ]

    /// The number of rows that this transaction has read so far, with any plan, from tables that grow.
    private static let rowsRead = """
        SELECT sum(seq_tup_read + coalesce(idx_tup_fetch, 0)) FROM pg_stat_xact_user_tables
        WHERE schemaname = 'fanfare' AND relname <> 'definition_keys'
        """

    @Test(arguments: [0, 1, 5])
    func costsNoMoreAsTablesGrow(from devices: Int) throws {
        let setup = try TestDatabase.current.connect()
        for n in 0..<devices {
            let device = "fanfare.register_device('shop', 'apns', md5('first' || $1), 'first')"
            _ = try setup.query("SELECT fanfare.subscribe(\(device), 'first')", String(n))
        }
        try setup.execute(
            "ANALYZE fanfare.devices, fanfare.subscriptions, fanfare.topics, fanfare.apps, fanfare.targets, fanfare.rules, fanfare.rule_versions"
        )
        // A new session, whose plans are made now.
        let connection = try TestDatabase.current.connect()
        try connection.execute("BEGIN")
        var before: Int64 = 0
        for sql in Self.statements {
            #expect(try connection.number(sql, String(Self.calls)) >= Self.calls)
            let read = try connection.number(Self.rowsRead)
            #expect(read - before < 20 * Self.calls, "a scan in each call reads tens of thousands: \(sql)")
            before = read
        }
    }
}
