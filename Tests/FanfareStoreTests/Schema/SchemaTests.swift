import FanfareCore
import FanfareProviders
import FanfareStore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

@Suite(.databaseWithRing)
struct SchemaTests {
    @Test func outcomeCodesAreTheEnums() throws {
        let connection = try TestDatabase.current.connect()
        let rows = try connection.query(
            "SELECT code, outcome, reason, provider, meaning FROM fanfare.outcome_codes ORDER BY code"
        ).rows
        let expected = Outcome.all.map { ["\($0.rawValue)", $0.outcome, $0.reason, $0.provider?.rawValue, $0.meaning] }
        #expect(rows == expected)
    }

    @Test func fatesAreTheEnums() throws {
        let connection = try TestDatabase.current.connect()
        let rows = try connection.query("SELECT fate, name FROM fanfare.event_fates ORDER BY fate").rows
        let expected = EventFate.allCases.sorted { $0.rawValue < $1.rawValue }.map {
            ["\($0.rawValue)", $0.name] as [String?]
        }
        #expect(rows == expected)
    }

    @Test func loadingAgainChangesNothing() throws {
        let connection = try TestDatabase.current.connect()
        let shape = """
            SELECT string_agg(line, E'\n' ORDER BY line COLLATE "C") FROM (
                SELECT 'r ' || oid::regclass || ' ' || coalesce(relacl::text, '') AS line FROM pg_class
                WHERE relnamespace = 'fanfare'::regnamespace
                UNION ALL SELECT 'f ' || oid::regprocedure || ' ' || md5(prosrc) || ' ' || coalesce(proacl::text, '')
                FROM pg_proc WHERE pronamespace = 'fanfare'::regnamespace
                UNION ALL SELECT 'c ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint
                WHERE connamespace = 'fanfare'::regnamespace) AS lines
            """
        try connection.execute("SELECT fanfare.emit('kept')")
        let before = try connection.text(shape)
        try connection.execute(Schema.sql)
        #expect(try connection.text(shape) == before)
        #expect(try connection.column("SELECT type FROM fanfare.outbox") == ["kept"])
        #expect(try connection.text("SELECT version || ' ' || oldest_daemon FROM fanfare.schema_version") == "2 1")
    }

    @Test func theTableOfContentsNamesTheParts() throws {
        let contents = try #require(Schema.sql.split(separator: "\nBEGIN READ WRITE;\n").first)
        let listed = contents.matches(of: /\n-- {2,3}(\d+) {2}([^\n]+)/).map { "\($0.1). \($0.2)" }
        let parts = Schema.sql.matches(of: /\n-- -+\n-- (\d+\. [^\n]+)\n-- -+\n/).map { String($0.1) }
        #expect(listed.count > 20 && listed == parts)
    }

    @Test func whatNoPlanGoesByIsNotAnalyzed() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute(
            """
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, created_at, first_device, last_device, rule_version,
                device_ids, event_ids, outcomes)
            SELECT 7, 1, 1, 1, 7::bigint << 32 | n, now(), 1, 2, 1, '{1,2}', ARRAY[n, n + 1], '\\x0101'
            FROM generate_series(1, 50) AS n;
            ANALYZE fanfare.batch_log_07;
            """
        )
        let analyzed = try connection.column(
            "SELECT attname FROM pg_stats WHERE schemaname = 'fanfare' AND tablename ~ '^batch_log_07'"
        )
        #expect(analyzed.contains("id"))
        let left = ["device_ids", "event_ids", "outcomes", "device_marks", "details", "int8range", "int8range1"]
        #expect(Set(left).isDisjoint(with: analyzed))
    }

    @Test func loadsBesideOpenTransactions() throws {
        let database = TestDatabase.current
        // Each statement holds different locks, so each is tried alone.
        for sql in Self.openTransactions {
            let other = try database.connect()
            try other.execute("BEGIN; \(sql)")
            let error = try database.connect().refusal(Self.impatient)
            #expect(error == nil, "\(sql)")
            try other.execute("\(sql); COMMIT")
        }
    }

    @Test func whatIsMissingIsMadeBesideOpenTransactions() throws {
        let database = TestDatabase.current
        for sql in Self.openTransactions {
            try database.connect().execute(
                "DROP TABLE fanfare.prune_fuses"
            )
            let other = try database.connect()
            try other.execute("BEGIN; \(sql)")
            let error = try database.connect().refusal(Self.impatient)
            #expect(error == nil, "\(sql)")
            try other.execute("\(sql); COMMIT")
        }
        let connection = try database.connect()
        let rights = "SELECT has_table_privilege('fanfare_daemon', 'fanfare.prune_fuses', 'SELECT,UPDATE,DELETE')"
        #expect(try connection.text(rights) == "t")
    }

    private static let openTransactions = [
        "SELECT * FROM fanfare.outbox, fanfare.event_log, fanfare.devices, fanfare.subscriptions, fanfare.rule_versions",
        "SELECT * FROM fanfare.batches, fanfare.batch_log", "SELECT * FROM fanfare.events",
        "SELECT * FROM fanfare.queue",
        "SELECT * FROM fanfare.deliveries, fanfare.health", "SELECT fanfare.emit('open')",
        "SELECT fanfare.register_device('a', 'apns', 'ab')", "DELETE FROM fanfare.batches",
        // A stronger lock than any writer holds; a load without changes only reads.
        """
        LOCK TABLE fanfare.outbox, fanfare.event_log, fanfare.plans, fanfare.cancels, fanfare.batches, fanfare.batch_log,
            fanfare.devices, fanfare.subscriptions, fanfare.targets, fanfare.rules, fanfare.rule_versions IN EXCLUSIVE MODE
        """,
    ]

    /// The schema with a short lock timeout.
    private static let impatient = Schema.sql.replacing("lock_timeout = '3s'", with: "lock_timeout = '50ms'")

    @Test func aNewerDatabaseIsLeftAlone() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute("UPDATE fanfare.schema_version SET version = 99")
        let error = try #require(connection.refusal(Schema.sql))
        try connection.execute("ROLLBACK")
        #expect(error.sqlState == "55000")
        #expect(error.hint != nil)
        #expect(try connection.text("SELECT version FROM fanfare.schema_version") == "99")
    }

    static let functions = [
        "emit(type text, payload jsonb DEFAULT '{}'::jsonb, key text DEFAULT NULL::text, ttl interval DEFAULT NULL::interval) bigint",
        "cancel(event_id bigint) boolean",
        "cancel(type text, key text) boolean",
        "register_device(app text, provider text, token text, user_id text DEFAULT NULL::text, kind text DEFAULT 'device'::text, "
            + "environment text DEFAULT 'production'::text, locale text DEFAULT NULL::text, time_zone text DEFAULT NULL::text, "
            + "attributes jsonb DEFAULT NULL::jsonb, p256dh text DEFAULT NULL::text, auth text DEFAULT NULL::text, "
            + "replaces text DEFAULT NULL::text, address text DEFAULT NULL::text, permission text DEFAULT NULL::text, "
            + "presents text[] DEFAULT NULL::text[]) bigint",
        "unregister_device(app text, provider text, token text) boolean",
        "unregister_device(app text, device_id bigint) boolean",
        "device_id(app text, provider text, token text) bigint",
        "subscribe(device_id bigint, topic text) bigint",
        "subscribe(device_ids bigint[], topic text) bigint",
        "unsubscribe(device_id bigint, topic text) bigint",
        "unsubscribe(device_ids bigint[], topic text) bigint",
        "forget_user(app text, user_id text) bigint",
        "put_rule(rule jsonb) integer",
        "drop_rule(app text, name text) boolean",
        "watch_table(rel regclass, event_type text, columns text[] DEFAULT NULL::text[], "
            + "operations text[] DEFAULT '{insert,update,delete}'::text[], delay interval DEFAULT NULL::interval) void",
        "emit_at(type text, at timestamp with time zone, payload jsonb DEFAULT '{}'::jsonb, key text DEFAULT NULL::text, "
            + "ttl interval DEFAULT NULL::interval, replace boolean DEFAULT false) bigint",
        "emit_local(type text, at timestamp without time zone, zone text, payload jsonb DEFAULT '{}'::jsonb, "
            + "key text DEFAULT NULL::text, ttl interval DEFAULT NULL::interval, replace boolean DEFAULT false) bigint",
        "reschedule(scheduled_id bigint, at timestamp with time zone, payload jsonb DEFAULT NULL::jsonb) boolean",
        "reschedule(type text, key text, at timestamp with time zone, payload jsonb DEFAULT NULL::jsonb) boolean",
        "unwatch_table(rel regclass, event_type text DEFAULT NULL::text) void",
    ]

    @Test func hasTheFunctionsOfTheContract() throws {
        let connection = try TestDatabase.current.connect()
        let there = try connection.column(
            """
            SELECT proname || '(' || pg_get_function_arguments(oid) || ') ' || prorettype::regtype FROM pg_proc
            WHERE pronamespace = 'fanfare'::regnamespace
            """
        )
        #expect(Set(Self.functions).subtracting(there).isEmpty)
    }

    static let views = [
        ("events", "id type key created_at fate detail payload deliveries replay_of trace_id"),
        (
            "deliveries",
            "event_id event_type rule rule_version app provider environment device_id user_id attempt outcome reason at batch_id "
                + "detail trace_id retracted_at reports"
        ),
        ("upcoming", "id at wall type key ttl app"),
        (
            "engagement",
            "day app rule rule_version variant accepted received shown opened acted dismissed converted value"
        ),
        ("queue", "app provider environment lane ready in_flight waiting oldest gate"),
        ("health", "name ok detail since"),
        (
            "feedback_state",
            "name app outcomes state waiting lag told_at failures failing_since retry_at error lost seen_at daemon is_more"
        ),
    ]

    @Test func hasTheViewsOfTheContract() throws {
        let connection = try TestDatabase.current.connect()
        for (view, columns) in Self.views {
            let there = try connection.text(
                """
                SELECT string_agg(attname, ' ' ORDER BY attnum) FROM pg_attribute
                WHERE attrelid = ('fanfare.' || $1)::regclass AND attnum > 0
                """,
                view
            )
            #expect(there == columns)
        }
    }

    @Test func powerfulFunctionsPinTheirSearchPath() throws {
        let connection = try TestDatabase.current.connect()
        let loose = try connection.column(
            """
            SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'fanfare'::regnamespace AND prosecdef
                AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (proconfig), false)
            """
        )
        #expect(loose.isEmpty)
        #expect(
            try connection.number(
                "SELECT count(*) FROM pg_proc WHERE pronamespace = 'fanfare'::regnamespace AND prosecdef"
            ) > 10
        )
    }

    /// A function without settings can be inlined, and then has no plan of its own to compile.
    @Test func functionsAreNotCompiled() throws {
        let compiled = try TestDatabase.current.connect().column(
            """
            SELECT oid::regprocedure FROM pg_proc WHERE pronamespace = 'fanfare'::regnamespace
                AND proconfig IS NOT NULL AND NOT 'jit=off' = ANY (proconfig)
            """
        )
        #expect(compiled.isEmpty)
    }

    /// Each setting costs a transaction of its caller 20 µs.
    ///
    /// Two are called in every application's transactions, three for every recipient of a cap; their names are all
    /// qualified. One is called for every new token and four for every message by functions that pin the path.
    @Test func onlyAFewFunctionsGoByTheirCallersSearchPath() throws {
        let connection = try TestDatabase.current.connect()
        let loose = try connection.column(
            """
            SELECT proname FROM pg_proc WHERE pronamespace = 'fanfare'::regnamespace
                AND proconfig IS NULL AND prosqlbody IS NULL ORDER BY proname
            """
        )
        #expect(
            loose == [
                "are_ids", "are_values_valid", "device_of_installation", "emit", "refuse", "settle", "split_message",
                "take", "take_texts",
            ]
        )
    }

    @Test func functionsInDefaultsCannotBeShadowed() throws {
        // String bodies are inlined and resolved in the caller's path; ATOMIC bodies were resolved at creation, others
        // pin the path.
        let connection = try TestDatabase.current.connect()
        let loose = try connection.column(
            """
            SELECT DISTINCT p.oid::regprocedure FROM pg_attrdef AS a
            JOIN pg_depend AS d ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid AND d.refclassid = 'pg_proc'::regclass
            JOIN pg_proc AS p ON p.oid = d.refobjid JOIN pg_language AS l ON l.oid = p.prolang
            WHERE p.pronamespace = 'fanfare'::regnamespace AND NOT (l.lanname = 'sql' AND p.prosqlbody IS NOT NULL)
                AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)
            """
        )
        #expect(loose.isEmpty)
    }

    @Test func rowsOfTheOutboxAreNeverUpdated() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute("SELECT fanfare.emit('x')")
        for sql in ["UPDATE fanfare.outbox SET type = 'y'", "UPDATE fanfare.outbox SET type = type WHERE false"] {
            let error = try #require(connection.refusal(sql))
            #expect(error.sqlState == "42501")
            #expect(error.hint != nil)
        }
        #expect(try connection.column("SELECT type FROM fanfare.outbox") == ["x"])
    }

    @Test func idsCarryTheirDay() throws {
        let connection = try TestDatabase.current.connect()
        let days = "(clock_timestamp() AT TIME ZONE 'UTC')::date - DATE '2020-01-01'"
        #expect(try connection.text("SELECT fanfare.new_event_id() >> 32 = \(days)") == "t")
        #expect(try connection.text("SELECT fanfare.ring_day(fanfare.new_batch_id()) = (\(days)) % 32") == "t")
        #expect(
            try connection.number("SELECT count(*) FROM pg_inherits WHERE inhparent = 'fanfare.event_log'::regclass")
                == 32
        )
    }

    @Test func outcomesMatchTheirDeliveries() throws {
        let connection = try TestDatabase.current.connect()
        for (event, events, devices, outcomes, constraint) in [
            ("NULL", "'{1}'", "'{1,2}'", 0, "batches_lengths"), ("1", "NULL", "'{}'", 0, "batches_lengths"),
            ("1", "NULL", "'{1,2}'", 1, "batches_lengths"), ("1", "NULL", "'{1,2}'", 3, "batches_lengths"),
            ("1", "'{1,1}'", "'{1,2}'", 2, "batches_events"), ("NULL", "NULL", "'{1,2}'", 2, "batches_events"),
            ("1", "NULL", "'{1,2}'", 2, nil), ("1", "NULL", "'{1,2}'", 0, nil), ("NULL", "'{1,2}'", "'{3,3}'", 0, nil),
        ] as [(String, String, String, Int, String?)] {
            let error = connection.refusal(
                """
                INSERT INTO fanfare.batches (event_id, event_ids, rule_version, target_id, lane, device_ids, outcomes)
                VALUES (\(event), \(events), 1, 1, 1, \(devices), decode(repeat('00', \(outcomes)), 'hex'))
                """
            )
            #expect(error?.constraint == constraint)
        }
    }
}
