import FanfareCore
import FanfareProviders
import FanfareStore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// The schema loaded over other versions, and beside daemons of other versions.
@Suite(.databaseWithRing)
struct UpgradeTests {
    private static let shape = """
        SELECT string_agg(line, E'\\n' ORDER BY line COLLATE "C") FROM (
            SELECT 'a ' || attrelid::regclass || '.' || attname || ' ' || atttypid::regtype || ' ' || attnotnull AS line
            FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped AND attrelid IN (
                SELECT oid FROM pg_class WHERE relnamespace = 'fanfare'::regnamespace AND relkind IN ('r', 'p', 'v'))
            UNION ALL SELECT 'c ' || conrelid::regclass || ' ' || conname || ' ' || replace(pg_get_constraintdef(oid), ' NOT VALID', '')
            FROM pg_constraint WHERE connamespace = 'fanfare'::regnamespace) AS lines
        """

    /// The schema of a fictitious version 3, which adds a column, an index and a view's column, and drops an index.
    private static let next: String = {
        var sql = Schema.sql
        for (old, new) in [
            ("this_version CONSTANT int := 2;", "this_version CONSTANT int := 3;"),
            (
                "-- Version 2.\n",
                """
                -- Version 2.
                SELECT fanfare.add_column('fanfare.devices', 'model', 'text');
                DROP INDEX IF EXISTS fanfare.event_log_planned;

                """
            ),
            ("    address text,\n", "    address text,\n    model text,\n"),
            (
                "SELECT fanfare.create_index('event_log_planned', ",
                "SELECT fanfare.create_index('event_log_planned_at', "
            ),
            ("CREATE INDEX event_log_planned ON", "CREATE INDEX event_log_planned_at ON"),
        ] {
            precondition(sql.contains(old), "schema.sql has no \(old)")
            sql = sql.replacing(old, with: new)
        }
        return sql
    }()

    /// The next version is loaded during a broadcast; the daemon of this one continues, and new daemons join it.
    @Test func aNewerVersionIsLoadedBelowADaemonOfThisOne() throws {
        var settings = StageSettings()
        settings.batchSize = 2
        let world = try World(settings: settings)
        for n in 0..<6 { try world.device("aa\(10 + n)", user: "u\(n)") }
        try world.rule("all", event: "all", to: #"{"everyone": true}"#)
        let event = try world.emit("all")
        try world.plan()
        let batches = try world.claim()
        #expect(batches.count == 3)
        func send(_ batches: ArraySlice<ClaimedBatch>) throws {
            for one in try world.prepare(Array(batches)) {
                let results = one.batch.deliveries.map { DeliveryResult(position: $0.position, outcome: .accepted) }
                world.record([.opened(one.batch, decided: []), .results(one.batch.claimed.claim, results, slots: 0)])
            }
        }
        try send(batches[..<1])
        for _ in 0..<2 { try world.connection.execute(Self.next) }
        #expect(
            try world.connection.text("SELECT version || ' ' || oldest_daemon FROM fanfare.schema_version") == "3 1"
        )
        try send(batches[1...])
        let late = try world.emit("all")
        try world.plan()
        try send(try world.claim()[...])
        for id in [event, late] { #expect(try world.outcomes(id) == Array(repeating: "accepted/accepted", count: 6)) }
        func enter(_ name: String, _ version: Int) -> String {
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ('\(name)', 'h', 1, '\(version)', clock_timestamp() + interval '15 s', \(version))
            """
        }
        for (name, version) in [("old", 2), ("new", 3)] {
            #expect(world.connection.refusal(enter(name, version)) == nil)
        }
        #expect(
            world.connection.refusal("SELECT fanfare.require_daemon(3)")?.message.contains("old (Fanfare 2") == true
        )
        try world.connection.execute(
            "DELETE FROM fanfare.instances WHERE name = 'old'; SELECT fanfare.require_daemon(3)"
        )
        #expect(world.connection.refusal(enter("old", 2))?.hint == "Upgrade Fanfare.")
        // An upgraded database has the same shape as a new one.
        let upgraded = try world.connection.text(Self.shape)
        for (index, isThere) in [("event_log_planned", "f"), ("event_log_planned_at", "t")] {
            let found = "SELECT to_regclass('fanfare.\(index)') IS NOT NULL"
            #expect(try world.connection.text(found) == isThere, "\(index)")
        }
        try world.connection.execute("DROP SCHEMA fanfare CASCADE")
        try world.connection.execute(Self.next)
        #expect(try world.connection.text(Self.shape) == upgraded)
    }

    /// What version 2 added is taken away first, so that the database is as version 1 made it.
    ///
    /// CASCADE also drops the functions that read it, and the load creates them again.
    @Test func version1IsUpgradedWithItsDevices() throws {
        let connection = try TestDatabase.current.connect()
        let fresh = try connection.text(Self.shape)
        try connection.execute(
            """
            DROP FUNCTION fanfare.register_device;
            DROP FUNCTION fanfare.import_rows;
            DROP INDEX fanfare.devices_installation;
            ALTER TABLE fanfare.devices DROP COLUMN address, DROP COLUMN permission CASCADE, DROP COLUMN presents CASCADE;
            ALTER TABLE fanfare.rule_versions DROP COLUMN permissions CASCADE, DROP COLUMN presents CASCADE;
            ALTER TABLE fanfare.providers DROP COLUMN fid_shape;
            CREATE FUNCTION fanfare.register_device(app text, provider text, token text, user_id text DEFAULT NULL, kind text DEFAULT 'device',
                environment text DEFAULT 'production', locale text DEFAULT NULL, time_zone text DEFAULT NULL,
                attributes jsonb DEFAULT NULL, p256dh text DEFAULT NULL, auth text DEFAULT NULL, replaces text DEFAULT NULL)
            RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
            CREATE FUNCTION fanfare.import_rows(app_id smallint, devices jsonb) RETURNS TABLE (number bigint) LANGUAGE sql AS 'SELECT 0::bigint';
            UPDATE fanfare.schema_version SET version = 1;
            INSERT INTO fanfare.apps (name) VALUES ('shop');
            INSERT INTO fanfare.devices (app_id, target_id, provider, token, token_hash, user_id)
            SELECT a.id, fanfare.target_id_for(a.id, 'fcm', 'production'), 'fcm', 'X:one', sha256('X:one'), 'ann' FROM fanfare.apps AS a
            """
        )
        let id = try connection.number("SELECT id FROM fanfare.devices")
        // An application's function that would break is named.
        let own = "SELECT fanfare.register_device('shop', 'fcm', 'Y')"
        try connection.execute("CREATE FUNCTION public.sign_in() RETURNS bigint LANGUAGE sql BEGIN ATOMIC \(own); END")
        let error = try #require(connection.refusal(Schema.sql))
        try connection.execute("ROLLBACK; DROP FUNCTION public.sign_in")
        #expect(error.detail?.contains("sign_in") == true && error.hint?.contains("migrate") == true)
        for _ in 0..<2 { try connection.execute(Schema.sql) }
        #expect(try connection.text(Self.shape) == fresh)
        #expect(try connection.text("SELECT version FROM fanfare.schema_version") == "2")
        let call = "fanfare.register_device('shop', 'fcm', 'X', 'ann', address => 'fid')"
        #expect(try connection.number("SELECT \(call)") == id)
    }

    /// Databases of developers have the version 2 of before devices said their permission.
    @Test func anEarlierVersion2GetsPermissions() throws {
        let connection = try TestDatabase.current.connect()
        let fresh = try connection.text(Self.shape)
        let id = try connection.number("SELECT fanfare.register_device('shop', 'fcm', 'X', 'ann', address => 'fid')")
        try connection.execute(
            """
            DROP FUNCTION fanfare.register_device;
            DROP FUNCTION fanfare.import_rows;
            ALTER TABLE fanfare.devices DROP COLUMN permission CASCADE, DROP COLUMN presents CASCADE;
            ALTER TABLE fanfare.rule_versions DROP COLUMN permissions CASCADE, DROP COLUMN presents CASCADE;
            CREATE FUNCTION fanfare.register_device(app text, provider text, token text, user_id text DEFAULT NULL, kind text DEFAULT 'device',
                environment text DEFAULT 'production', locale text DEFAULT NULL, time_zone text DEFAULT NULL,
                attributes jsonb DEFAULT NULL, p256dh text DEFAULT NULL, auth text DEFAULT NULL, replaces text DEFAULT NULL,
                address text DEFAULT NULL)
            RETURNS bigint LANGUAGE sql AS 'SELECT 0::bigint';
            CREATE FUNCTION fanfare.import_rows(app_id smallint, devices jsonb) RETURNS TABLE (number bigint) LANGUAGE sql AS 'SELECT 0::bigint'
            """
        )
        for _ in 0..<2 { try connection.execute(Schema.sql) }
        #expect(try connection.text(Self.shape) == fresh)
        let call = "fanfare.register_device('shop', 'fcm', 'X', 'ann', permission => 'denied')"
        #expect(try connection.number("SELECT \(call)") == id)
        let row = try connection.query("SELECT address, permission FROM fanfare.devices").rows
        #expect(row == [["fid", "denied"]])
    }

    /// No such installation exists; its columns and tables had other names.
    @Test func aDatabaseOfBeforeTheFirstReleaseIsRefused() throws {
        let connection = try TestDatabase.current.connect()
        try connection.execute("ALTER TABLE fanfare.providers RENAME TO platforms")
        let error = try #require(connection.refusal(Schema.sql))
        try connection.execute("ROLLBACK")
        #expect(error.sqlState == "55000" && error.message.contains("before 0.1.0"))
        #expect(error.hint?.contains("DROP SCHEMA fanfare CASCADE") == true)
    }

    @Test func targetsAreOneForEachKindOfAudience() throws {
        let world = try World()
        try world.device("bb", user: "u", provider: "fcm")
        for n in 1...2 { try world.rule("topic\(n)", event: "e", to: #"{"fcm_topic": "all"}"#) }
        try world.rule("condition", event: "e", to: #"{"fcm_condition": "'a' in topics"}"#)
        try world.device("cc", user: "u", provider: "fcm")
        let targets = "SELECT coalesce(native_key, 'devices') FROM fanfare.targets ORDER BY id"
        #expect(try world.connection.column(targets) == ["devices", "fcm_topic", "fcm_condition"])
        #expect(try world.connection.number("SELECT count(DISTINCT target_id) FROM fanfare.devices") == 1)
        for values in ["'fcm', 'production', 'fcm_topic'", "'fcm', 'production', NULL"] {
            let again =
                "INSERT INTO fanfare.targets (app_id, provider, environment, native_key) SELECT id, \(values) FROM fanfare.apps"
            #expect(world.connection.refusal(again)?.constraint == "targets_key")
        }
        for values in [
            "'apns', 'production', 'fcm_topic'", "'fcm', 'production', 'channel'", "'fcm', 'production', 'topic'",
        ] {
            let wrong =
                "INSERT INTO fanfare.targets (app_id, provider, environment, native_key) SELECT id, \(values) FROM fanfare.apps"
            #expect(world.connection.refusal(wrong)?.constraint == "targets_native")
        }
    }

    @Test func codesOfANewerDaemonAreShownByTheirRange() throws {
        let world = try World()
        try world.devices(256, user: "u")
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        try world.connection.execute(
            """
            UPDATE fanfare.batches SET outcomes = decode((
                SELECT string_agg(lpad(to_hex(n), 2, '0'), '' ORDER BY n) FROM generate_series(0, 255) AS n), 'hex');
            """
        )
        let known = try world.outcomes(event)
        try world.connection.execute("DELETE FROM fanfare.outcome_codes")
        let shown = try world.outcomes(event)
        #expect(known.count == 256 && shown.count == 256)
        for code in 0...255 {
            let range = OutcomeRange(code: UInt8(code))
            let name = range == .own ? "unknown" : "\(range)"
            #expect(shown[code] == "\(name)/unknown", "\(code)")
            if range != .own, Outcome.all.contains(Outcome(rawValue: UInt8(code))) {
                #expect(known[code].hasPrefix("\(name)/"), "\(code)")
            }
        }
    }
}
