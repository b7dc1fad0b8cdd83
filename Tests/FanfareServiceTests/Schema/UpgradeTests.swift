import FanfareCore
import FanfareProviders
import FanfareStore
import PostgresClient
import TestKit
import Testing

@testable import FanfareService
@testable import FanfareStages

/// The schema over databases and beside daemons of another version.
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

    @Test func aDatabaseOfBeforeGetsWhatCameSince() throws {
        let world = try World()
        let connection = world.connection
        let fresh = try connection.text(Self.shape)
        let device = try world.device("aa", user: "u")
        try world.rule("users", event: "e", to: #"{"users": "$.u"}"#)
        try connection.execute(
            """
            ALTER TABLE fanfare.targets DROP COLUMN native_key;
            ALTER TABLE fanfare.targets ADD UNIQUE (app_id, platform, environment);
            ALTER TABLE fanfare.targets ADD CONSTRAINT targets_platform CHECK (platform IN ('apns', 'fcm', 'webpush'));
            ALTER TABLE fanfare.rule_versions DROP COLUMN native_target_id CASCADE;
            DROP VIEW fanfare.queue, fanfare.campaign_runs;
            ALTER TABLE fanfare.batches DROP COLUMN is_retry, DROP COLUMN gate_id, DROP COLUMN due_at;
            ALTER TABLE fanfare.rule_versions DROP COLUMN gate_id;
            ALTER TABLE fanfare.plans DROP COLUMN gate_id, ADD COLUMN advanced_at timestamptz NOT NULL DEFAULT now();
            ALTER TABLE fanfare.stats_pending DROP COLUMN gate_id;
            DROP TABLE fanfare.gates, fanfare.gate_stats, fanfare.rates, fanfare.policies, fanfare.preferences, fanfare.caps, fanfare.cap_grants;
            CREATE FUNCTION fanfare.check_token(text, text) RETURNS void LANGUAGE sql AS 'SELECT';
            ALTER TABLE fanfare.cancels DROP COLUMN stopped;
            CREATE INDEX batches_ready ON fanfare.batches (target_id, lane, not_before, id) WHERE owner IS NULL;
            DROP INDEX fanfare.event_keys_created, fanfare.cancels_created, fanfare.collapse_latest_created;
            CREATE INDEX event_keys_age ON fanfare.event_keys USING brin (created_at);
            CREATE FUNCTION fanfare.event_span(bigint[]) RETURNS int8range LANGUAGE sql AS 'SELECT NULL::int8range';
            CREATE INDEX batch_log_events ON fanfare.batch_log USING gin (event_ids);
            DROP VIEW fanfare.deliveries, fanfare.events;
            ALTER TABLE fanfare.outbox DROP COLUMN trace;
            ALTER TABLE fanfare.outbox_slow DROP COLUMN trace;
            ALTER TABLE fanfare.event_log DROP COLUMN trace;
            DROP FUNCTION fanfare.trace_context;
            ALTER TABLE fanfare.batch_log DROP COLUMN first_event, DROP COLUMN last_event, DROP COLUMN device_marks,
                DROP COLUMN details;
            ALTER TABLE fanfare.outcome_codes DROP COLUMN meaning;
            ALTER TABLE fanfare.event_log DROP CONSTRAINT event_log_detail_length;
            ALTER TABLE fanfare.audience_failures DROP CONSTRAINT audience_failures_error_length;
            INSERT INTO fanfare.audience_failures (rule_version, error) VALUES (1, repeat('x', 20000));
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type, detail)
            VALUES (6, 6, 6::bigint << 32, now(), 'e', repeat('x', 20000));
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type)
            SELECT 7, 1, 7::bigint << 32 | n, now(), 'e' FROM generate_series(1, 2) AS n;
            INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, created_at, first_device, last_device, rule_version,
                device_ids, event_ids, outcomes)
            SELECT 7, 1, d.target_id, 1, 7::bigint << 32, now(), d.id, d.id, v.id, ARRAY[d.id, d.id],
                ARRAY[7::bigint << 32 | 1, 7::bigint << 32 | 2], '\\x0101'
            FROM fanfare.devices AS d, fanfare.rule_versions AS v;
            """
        )
        let unjudged = #"{"app": "other", "name": "r", "event": "f", "to": {"users": "$.u"}}"#
        try connection.execute("SELECT fanfare.put_rule('\(unjudged)')")
        try connection.execute(
            "UPDATE fanfare.rule_versions SET event_type = NULL, rule_created_at = NULL WHERE state = 'unchecked'"
        )
        let old = try connection.column("SELECT id FROM fanfare.targets ORDER BY id")
        for _ in 0..<2 {
            try connection.execute(Schema.sql)
            #expect(try connection.text(Self.shape) == fresh)
            for (index, isThere) in [
                ("batches_ready", "f"), ("batches_due", "t"), ("batches_gate", "t"), ("stats_pending_gate", "t"),
                ("event_keys_age", "f"), ("event_keys_created", "t"),
                ("cancels_created", "t"), ("collapse_latest_created", "t"), ("batch_log_events", "f"),
                ("batch_log_span", "f"), ("batch_log_spans", "t"), ("batch_log_devices", "t"),
            ] {
                let look = "SELECT to_regclass('fanfare.\(index)') IS NOT NULL"
                #expect(try connection.text(look) == isThere, "\(index)")
            }
        }
        #expect(try connection.column("SELECT id FROM fanfare.targets ORDER BY id") == old)
        #expect(try connection.text("SELECT to_regprocedure('fanfare.event_span(bigint[])') IS NULL") == "t")
        #expect(try connection.text("SELECT to_regprocedure('fanfare.check_token(text, text)') IS NULL") == "t")
        #expect(try connection.number("SELECT max(length(error)) FROM fanfare.audience_failures") == 2000)
        #expect(try connection.number("SELECT max(length(detail)) FROM fanfare.events") == 2000)
        #expect(
            connection.refusal("UPDATE fanfare.audience_failures SET error = repeat('x', 9000)")?.constraint
                == "audience_failures_error_length"
        )
        #expect(try connection.number("SELECT last_event - first_event FROM fanfare.batch_log") == 1)
        let noted = "SELECT event_type FROM fanfare.rule_versions WHERE state = 'unchecked' AND rule_created_at < now()"
        #expect(try connection.column(noted) == ["f"])
        #expect(try connection.number("SELECT count(*) FROM fanfare.deliveries WHERE user_id = 'u'") == 2)
        let second = "SELECT count(*) FROM fanfare.deliveries WHERE event_id = 7::bigint << 32 | 2"
        #expect(try connection.number(second) == 1)
        let upgraded = try World()
        try upgraded.rule("topic", event: "e", to: #"{"fcm_topic": "all"}"#)
        let trace = "0af7651916cd43dd8448eb211c80319c"
        try upgraded.connection.execute("SET fanfare.traceparent = '00-\(trace)-b7ad6b7169203331-01'")
        let event = try upgraded.emit("e", #"{"u": "u"}"#)
        try upgraded.plan()
        #expect(try upgraded.recipients(event) == [0, device])
        #expect(try upgraded.connection.text("SELECT trace_id FROM fanfare.events WHERE id = $1", "\(event)") == trace)
    }

    @Test func targetsAreOneForEachKindOfAudience() throws {
        let world = try World()
        try world.device("bb", user: "u", platform: "fcm")
        for n in 1...2 { try world.rule("topic\(n)", event: "e", to: #"{"fcm_topic": "all"}"#) }
        try world.rule("condition", event: "e", to: #"{"fcm_condition": "'a' in topics"}"#)
        try world.device("cc", user: "u", platform: "fcm")
        let targets = "SELECT coalesce(native_key, 'devices') FROM fanfare.targets ORDER BY id"
        #expect(try world.connection.column(targets) == ["devices", "fcm_topic", "fcm_condition"])
        #expect(try world.connection.number("SELECT count(DISTINCT target_id) FROM fanfare.devices") == 1)
        for values in ["'fcm', 'production', 'fcm_topic'", "'fcm', 'production', NULL"] {
            let again =
                "INSERT INTO fanfare.targets (app_id, platform, environment, native_key) SELECT id, \(values) FROM fanfare.apps"
            #expect(world.connection.refusal(again)?.constraint == "targets_key")
        }
        for values in [
            "'apns', 'production', 'fcm_topic'", "'fcm', 'production', 'channel'", "'fcm', 'production', 'topic'",
        ] {
            let wrong =
                "INSERT INTO fanfare.targets (app_id, platform, environment, native_key) SELECT id, \(values) FROM fanfare.apps"
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
