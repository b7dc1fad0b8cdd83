import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The permissions of each role.
@Suite(.databaseWithRing)
struct RoleTests {
    static let actions: [(sql: String, roles: Set<String>)] = [
        ("SELECT fanfare.emit('x', '{}', 'k', '1 h')", ["fanfare_emitter", "fanfare_daemon"]),
        ("SELECT fanfare.cancel(1)", ["fanfare_emitter", "fanfare_daemon"]),
        ("SELECT fanfare.cancel_events('{1}')", ["fanfare_emitter", "fanfare_daemon"]),
        ("SELECT fanfare.cancel('x', 'k')", ["fanfare_emitter", "fanfare_daemon"]),
        ("SELECT fanfare.register_device('a', 'apns', 'ab')", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT fanfare.device_id('a', 'apns', 'ab')", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT fanfare.unregister_device('a', 'apns', 'ab')", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT fanfare.unregister_device('a', 1)", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT fanfare.subscribe('{}'::bigint[], 't')", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT fanfare.unsubscribe(1, 't')", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT fanfare.forget_user('a', 'u')", ["fanfare_registrar", "fanfare_daemon"]),
        (
            "SELECT fanfare.note_topic_change('a', 'subscribe', 't', 'f', 0, '{}', false) FROM fanfare.topic_changes",
            ["fanfare_daemon"]
        ),
        ("SELECT fanfare.set_preference('a', 'u', 'c', true)", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT fanfare.snooze('a', 'u', now())", ["fanfare_registrar", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.preferences", ["fanfare_reader", "fanfare_daemon"]),
        (
            "SELECT * FROM fanfare.why(1, 'u'), fanfare.why_verdict(1, 'u'), fanfare.why_recent('u')",
            ["fanfare_reader", "fanfare_daemon"]
        ),
        ("SELECT * FROM fanfare.why_steps(1, 'u', NULL, NULL, NULL)", ["fanfare_daemon"]),
        ("SELECT fanfare.replay(1) WHERE false", ["fanfare_operator", "fanfare_daemon"]),
        (
            #"SELECT fanfare.put_rule('{"app": "a", "name": "r", "event": "e", "to": {"everyone": true}, "message": {}}')"#,
            ["fanfare_author", "fanfare_daemon"]
        ),
        ("SELECT fanfare.rule_error('{}')", ["fanfare_author", "fanfare_daemon"]),
        ("SELECT fanfare.drop_rule('a', 'r')", ["fanfare_author", "fanfare_daemon"]),
        (#"SELECT fanfare.put_policy('a', '{"rate": "5/s"}')"#, ["fanfare_author", "fanfare_daemon"]),
        ("SELECT fanfare.policy_error('{}')", ["fanfare_author", "fanfare_daemon"]),
        (
            "SELECT fanfare.next_due(NULL, fanfare.wall_time('2026-12-01T09:00'), 'UTC', now())",
            ["fanfare_author", "fanfare_reader", "fanfare_daemon"]
        ),
        ("SELECT fanfare.zone('Europe/Madrid', 'UTC')", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.find_events(), fanfare.find_waiting()", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.events_of_key('k')", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.last_deliveries()", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.event_pushes(1), fanfare.event_outcomes(1)", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.user_pushes('u'), fanfare.backlog()", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT fanfare.event_id_at(now()) FROM fanfare.unsent('{1}')", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.traffic, fanfare.prune_counts", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.variants(1)", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT fanfare.variant_of('{}', 'u', 1)", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.caps, fanfare.cap_grants", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.events", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.deliveries", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.queue", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.health", ["fanfare_author", "fanfare_reader", "fanfare_daemon"]),
        ("SELECT definition FROM fanfare.rule_versions", ["fanfare_author", "fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.stats, fanfare.outcome_codes", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT token FROM fanfare.devices", ["fanfare_daemon"]),
        ("SELECT * FROM fanfare.actions", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.feedback_state", ["fanfare_reader", "fanfare_daemon"]),
        ("SELECT * FROM fanfare.feedback, fanfare.feedback_hooks, fanfare.feedback_cursors", ["fanfare_daemon"]),
        ("SELECT fanfare.replay_feedback('h', now()) WHERE false", ["fanfare_operator", "fanfare_daemon"]),
        ("SELECT fanfare.resume_feedback('h') WHERE false", ["fanfare_operator", "fanfare_daemon"]),
        ("SELECT fanfare.forget_feedback('h') WHERE false", ["fanfare_operator", "fanfare_daemon"]),
        ("INSERT INTO fanfare.actions (actor, action) VALUES ('a', 'b')", ["fanfare_daemon"]),
        (
            "SELECT * FROM fanfare.api_tokens, fanfare.api_requests, fanfare.api_secret, fanfare.ended_sessions",
            ["fanfare_daemon"]
        ),
        (
            "UPDATE fanfare.devices SET disabled_at = NULL, disabled_reason = NULL",
            ["fanfare_operator", "fanfare_daemon"]
        ),
        ("SELECT * FROM fanfare.outbox", ["fanfare_daemon"]),
        ("SELECT payload FROM fanfare.outbox", ["fanfare_daemon"]),
        ("SELECT id FROM fanfare.outbox", ["fanfare_emitter", "fanfare_daemon"]),
        ("DELETE FROM fanfare.outbox", ["fanfare_daemon"]),
        ("INSERT INTO fanfare.outbox (id, type, payload) VALUES (1, 'x', '{}')", ["fanfare_daemon"]),
        ("INSERT INTO fanfare.outbox (xid, type, payload) VALUES ('1', 'x', '{}')", ["fanfare_daemon"]),
        ("INSERT INTO fanfare.outbox (created_at, type, payload) VALUES (now(), 'x', '{}')", ["fanfare_daemon"]),
        ("INSERT INTO fanfare.cancels (event_id) VALUES (1)", ["fanfare_daemon"]),
        ("TRUNCATE fanfare.event_log_07, fanfare.batch_log_07", ["fanfare_daemon"]),
        ("SELECT setval('fanfare.event_sequence', 1)", []),
        ("SET LOCAL transaction_read_only = on; SELECT fanfare.badges('SELECT ''a'', 1', '{}')", ["fanfare_daemon"]),
        ("SELECT fanfare.adopt('theirs')", []),
        ("ALTER TABLE fanfare.devices ADD x int", []),
        ("CREATE TABLE fanfare.mine ()", []),
    ]

    @Test func everyRoleMayDoItsOwnThingsOnly() throws {
        let connection = try TestDatabase.current.connect()
        let nobody = "\(TestDatabase.current.name)_nobody"
        try connection.execute("CREATE ROLE \"\(nobody)\"")
        for role in [
            "fanfare_emitter", "fanfare_registrar", "fanfare_author", "fanfare_operator", "fanfare_reader",
            "fanfare_daemon", "fanfare_sql",
            nobody,
        ] {
            for (sql, roles) in Self.actions {
                try connection.execute("BEGIN; SET LOCAL ROLE \"\(role)\"")
                let error = connection.refusal(sql)
                try connection.execute("ROLLBACK")
                // Operators may also read.
                let isAllowed =
                    roles.contains(role) || role == "fanfare_operator" && roles.contains("fanfare_reader")
                let expected = isAllowed ? nil : "42501"
                #expect(error?.sqlState == expected, "\(role): \(sql): \(error?.message ?? "allowed")")
            }
        }
        try connection.execute("DROP ROLE \"\(nobody)\"")
    }

    @Test func publicHasNothing() throws {
        let connection = try TestDatabase.current.connect()
        let granted = try connection.column(
            """
            SELECT 'schema' FROM pg_namespace CROSS JOIN aclexplode(nspacl) AS a
            WHERE nspname = 'fanfare' AND a.grantee = 0
            UNION ALL SELECT c.oid::regclass::text FROM pg_class AS c CROSS JOIN aclexplode(c.relacl) AS a
            WHERE c.relnamespace = 'fanfare'::regnamespace AND a.grantee = 0
            UNION ALL SELECT p.oid::regprocedure::text
            FROM pg_proc AS p CROSS JOIN aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) AS a
            WHERE p.pronamespace = 'fanfare'::regnamespace AND a.grantee = 0
            """
        )
        #expect(granted.isEmpty)
    }

    @Test func everythingBelongsToTheOwner() throws {
        let connection = try TestDatabase.current.connect()
        let others = try connection.column(
            """
            SELECT c.oid::regclass::text FROM pg_class AS c
            WHERE c.relnamespace = 'fanfare'::regnamespace AND c.relowner <> 'fanfare_owner'::regrole
            UNION ALL SELECT p.oid::regprocedure::text FROM pg_proc AS p
            WHERE p.pronamespace = 'fanfare'::regnamespace AND p.proowner <> 'fanfare_owner'::regrole
            """
        )
        let ofNobody = [
            "audience(text,text)", "badge_sql_error(text)", "badges(text,text[])", "campaign_sql_error(text,boolean)",
            "conversion_sql_error(text)", "conversions_by_sql(text,timestamp with time zone)",
            "hidden_tables(text,regtype)", "payloads(text)",
            "users_by_sql(text,jsonb)", "users_sql_error(text)",
        ]
        #expect(others.sorted() == ofNobody, "what others wrote runs with nobody's rights")
        #expect(
            try connection.text("SELECT rolcanlogin OR rolsuper FROM pg_roles WHERE rolname = 'fanfare_owner'") == "f"
        )
    }

    /// `emit` runs with its caller's rights and search_path.
    @Test func nothingInTheCallersPathShadowsWhatEmitUses() throws {
        let connection = try TestDatabase.current.connect()
        let listener = try TestDatabase.current.connect()
        try listener.listen(to: "fanfare_wake")
        try listener.run(SQL.beginSleep())
        try connection.execute(
            """
            CREATE SCHEMA decoy;
            CREATE FUNCTION decoy.pg_notify(text, text) RETURNS void LANGUAGE sql AS 'SELECT 1 / 0';
            CREATE FUNCTION decoy.pg_try_advisory_lock(int, int) RETURNS boolean LANGUAGE sql AS 'SELECT 1 / 0 = 0';
            CREATE FUNCTION decoy.differs(text, text) RETURNS boolean LANGUAGE sql AS 'SELECT 1 / 0 = 0';
            CREATE OPERATOR decoy.<> (FUNCTION = decoy.differs, LEFTARG = text, RIGHTARG = text);
            GRANT USAGE ON SCHEMA decoy TO fanfare_emitter;
            SET ROLE fanfare_emitter;
            CREATE TEMP TABLE outbox (type text, payload jsonb, key text, ttl interval, id bigint);
            CREATE DOMAIN pg_temp.text AS pg_catalog.text CHECK (false);
            CREATE DOMAIN pg_temp.int8 AS pg_catalog.int8 CHECK (false);
            CREATE FUNCTION pg_temp.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT NULL::timestamptz';
            SET search_path = pg_temp, decoy, fanfare, pg_catalog;
            SELECT fanfare.emit('real', '{"a": 1}');
            RESET ROLE;
            """
        )
        #expect(try connection.column("SELECT type FROM fanfare.outbox WHERE created_at IS NOT NULL") == ["real"])
        #expect(try connection.number("SELECT count(*) FROM pg_temp.outbox") == 0)
        #expect(try listener.notifications(timeout: .seconds(30)).map(\.channel) == ["fanfare_wake"])
    }

    @Test(arguments: [
        "INSERT INTO fanfare.outbox (type, payload) VALUES ('e', '{}') RETURNING id",
        "INSERT INTO fanfare.outbox (type, payload, key, ttl) SELECT 'e', '{}', 'k' || n, '1 hour' FROM generate_series(1, 3) AS n",
    ])
    func anInsertIntoTheOutboxWakesASleeper(_ insert: String) throws {
        let emitter = try TestDatabase.current.connect()
        let listener = try TestDatabase.current.connect()
        try listener.listen(to: "fanfare_wake")
        try emitter.execute("SET ROLE fanfare_emitter")
        try emitter.execute(insert)
        // Only a sleeper is woken, once for each transaction.
        try listener.run(SQL.beginSleep())
        try emitter.execute("BEGIN; \(insert); \(insert); COMMIT")
        #expect(try listener.notifications(timeout: .seconds(30)).map(\.channel) == ["fanfare_wake"])
        let error = try #require(
            emitter.refusal("INSERT INTO fanfare.outbox (type, payload, wakes) VALUES ('e', '{}', false)")
        )
        #expect(error.sqlState == "42501")
    }

    /// A daemon that falls asleep must see every transaction that found no sleeper among those in progress.
    @Test func aTransactionHasItsIDBeforeItLooksForASleeper() throws {
        let columns = try TestDatabase.current.connect().column(
            """
            SELECT attname FROM pg_attribute
            WHERE attrelid = 'fanfare.outbox'::regclass AND attnum > 0 AND NOT attisdropped AND atthasdef ORDER BY attnum
            """
        )
        #expect(columns.first == "xid" && columns.last == "wakes")
    }
}
