import PostgresClient
import PushTransport
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareConfiguration
@testable import FanfareCore
@testable import FanfareProviders
@testable import FanfareRecords
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore
@testable import FanfareTools
@testable import fanfare

@Suite(.database) struct StatusToolTests {
    @Test func daemonsQueuesAndHealthAreShown() async throws {
        try sql("SELECT fanfare.register_device('shop', 'apns', 'aa01')")
        try sql(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, leads, report, schema_version)
            SELECT 'production', 'host' || n, n, '1.0', clock_timestamp() + (5 - n) * interval '1 hour',
                CASE n WHEN 1 THEN '{maintenance}'::text[] ELSE '{}' END,
                jsonb_build_object('listening', n = 1, 'breakers', jsonb_build_object('shop/apns/production', 'open'),
                    'fuses_blown', '["shop/production"]'::jsonb), 5
            FROM generate_series(1, 6, 5) AS n
            """
        )
        try sql(
            """
            INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids)
            SELECT 1, 1, id, 2, '{1,2,3}' FROM fanfare.targets WHERE environment = 'production'
            """
        )
        let report = try await toolDatabase().status()
        #expect(report.hasDaemon)
        #expect(report.daemons.map(\.isAlive) == [true, false])
        #expect(report.daemons.first?.leads == ["maintenance"])
        #expect(report.queues.map(\.lane) == ["bulk"])
        #expect(report.queues.map(\.ready) == [3])
        let daemon = report.json["daemons"]?.arrayValue?.first
        #expect(daemon?["alive"] == true)
        #expect(daemon?["fuses_blown"] == ["shop/production"])
        for word in [
            "alive for", "lease expired", "shop/apns/production open", "blown: shop/production", "bulk", "outbox",
        ] {
            #expect(report.text.contains(word))
        }
    }

    @Test func aReaderMaySeeIt() async throws {
        try await withRole(in: "fanfare_reader") { role throws in
            #expect(try await !toolDatabase(user: role).status().hasDaemon)
            #expect(try await toolDatabase(user: role).stored(RuleSet.self, app: nil).isEmpty)
        }
    }
}

@Suite(.database) struct CheckupTests {
    private func items(_ yaml: String? = nil, user: String? = nil) async throws -> [CheckItem] {
        await Checkup(try toolConfiguration(yaml, user: user), environment: [:]).items(online: false)
    }

    private func item(_ name: String, in items: [CheckItem]) -> CheckItem? {
        items.first { $0.name == name }
    }

    @Test func anAdoptedDatabaseIsFine() async throws {
        try sql("SELECT fanfare.adopt('production')")
        let items = try await items("installation: production")
        #expect(items.filter { $0.level == .fail } == [])
        for name in [
            "file descriptors", "database", "LISTEN", "clock", "connections", "autovacuum", "privileges",
            "installation", "schema", "rules",
        ] {
            #expect(item(name, in: items)?.level == .ok, "\(name)")
        }
    }

    @Test func devicesOfFCMAreCountedByAddress() async throws {
        try sql("SELECT fanfare.adopt('production')")
        try sql("SELECT fanfare.register_device('shop', 'fcm', 't' || n) FROM generate_series(1, 3) AS n")
        try sql(
            "SELECT fanfare.register_device('shop', 'fcm', 'f' || n, address => 'fid') FROM generate_series(1, 2) AS n"
        )
        try sql("SELECT fanfare.unregister_device('shop', 'fcm', 'f1')")
        #expect(try await item("FCM devices of shop", in: items())?.detail == "3 by token, 1 by FID")
    }

    @Test func devicesAreCountedByPermission() async throws {
        try sql("SELECT fanfare.adopt('production')")
        try sql("SELECT fanfare.register_device('shop', 'fcm', 't' || n) FROM generate_series(1, 3) AS n")
        #expect(try await item("permission of devices of shop", in: items()) == nil, "no device says it")
        try sql("SELECT fanfare.register_device('shop', 'fcm', 't1', permission => 'denied')")
        try sql("SELECT fanfare.register_device('shop', 'apns', 'ab', permission => 'authorized')")
        try sql("SELECT fanfare.unregister_device('shop', 'fcm', 't3')")
        let counts = "1 authorized, 0 provisional, 1 denied, 1 unknown"
        #expect(try await item("permission of devices of shop", in: items())?.detail == counts)
    }

    /// What the newer program reads is not there.
    @Test func anOlderSchemaIsNamedAndNotRead() async throws {
        try sql("SELECT fanfare.adopt('production')")
        try sql("UPDATE fanfare.schema_version SET version = 1")
        try sql("ALTER TABLE fanfare.devices DROP COLUMN address")
        let items = try await items("installation: production")
        #expect(item("schema", in: items)?.level == .fail)
        #expect(item("rules", in: items) == nil)
    }

    @Test func zonesThatTheServerLacksAreAWarning() async throws {
        #expect(DatabaseCheckup.timeZoneItems(unknown: []).isEmpty)
        let one = try #require(DatabaseCheckup.timeZoneItems(unknown: ["Europe/Kyiv"]).first)
        #expect(one.level == .warn && one.detail.hasPrefix("this server does not know Europe/Kyiv: "))
        let two = try #require(DatabaseCheckup.timeZoneItems(unknown: ["America/Nuuk", "Europe/Kyiv"]).first)
        #expect(two.detail.hasPrefix("this server does not know America/Nuuk and 1 more: "))
        // Like a server that has neither the new name nor an old one.
        try sql(
            "CREATE OR REPLACE FUNCTION fanfare.time_zone(name text) RETURNS text LANGUAGE sql AS $$ SELECT nullif(name, 'Europe/Kyiv') $$"
        )
        try sql("SELECT fanfare.adopt()")
        #expect(try await item("time zones", in: items())?.detail == one.detail)
    }

    @Test func whatIsMissingIsNamed() async throws {
        try await withRole(in: "fanfare_daemon") { role throws in
            try sql("SELECT fanfare.adopt()")
            #expect(try await item("privileges", in: items(user: role))?.level == .ok)
            try sql("REVOKE DELETE ON fanfare.outbox FROM fanfare_daemon")
            let privileges = try await item("privileges", in: items(user: role))
            #expect(privileges?.level == .fail)
            #expect(privileges?.detail == "missing: DELETE on fanfare.outbox")
            #expect(privileges?.advice.contains("GRANT fanfare_daemon") == true)
        }
    }

    /// There is no warning if no queries exist.
    @Test func whatAuthorsQueriesMayUseUpIsAWarning() async throws {
        try sql("SELECT fanfare.adopt()")
        let names = ["temp_file_limit", "pg_logical_emit_message"]
        func levels() async throws -> [CheckItem.Level?] {
            let items = try await items()
            return names.map { item($0, in: items)?.level }
        }
        #expect(try await levels() == [nil, nil])
        let rule = #"{"app": "a", "name": "r", "event": "e", "to": {"users_sql": "SELECT $1->>''u''"}, "message": {}}"#
        try sql("SELECT fanfare.put_rule('\(rule)')")
        #expect(try await levels() == [.warn, .warn])
        try sql("ALTER DATABASE \"\(TestDatabase.current.name)\" SET temp_file_limit = '1GB'")
        try sql(
            """
            DO $$ DECLARE f record; BEGIN
                FOR f IN SELECT oid::regprocedure AS name FROM pg_proc WHERE proname = 'pg_logical_emit_message' LOOP
                    EXECUTE 'REVOKE EXECUTE ON FUNCTION ' || f.name || ' FROM PUBLIC';
                END LOOP; END $$
            """
        )
        #expect(try await levels() == [nil, nil])
    }

    @Test func limitsOfRoleAndDatabaseCountAsTheServersDoes() async throws {
        try await withRole(in: "fanfare_daemon") { role throws in
            #expect(try await item("connections", in: items(user: role))?.level == .ok)
            try sql("ALTER ROLE \(role) CONNECTION LIMIT 4")
            let small = try await item("connections", in: items(user: role))
            #expect(small?.level == .fail)
            #expect(small?.detail.contains("of 4 are free for role \(role); a daemon takes 6") == true)
            #expect(small?.advice.hasPrefix("Raise the CONNECTION LIMIT of role \(role)") == true)

            try sql("ALTER ROLE \(role) CONNECTION LIMIT -1")
            let alter = "ALTER DATABASE \"\(TestDatabase.current.name)\" CONNECTION LIMIT"
            try sql("\(alter) 4")
            let database = try await item("connections", in: items(user: role))
            #expect(database?.level == .fail && database?.detail.contains("free for database") == true)
            #expect(try await item("connections", in: items())?.level == .ok, "superusers are not bound by it")
            try sql("\(alter) -1")

            try sql("ALTER ROLE \(role) CONNECTION LIMIT 7")
            let options = try toolDatabase(user: role).options
            let held = try (0..<3).map { _ in try PostgresConnection.open(options) }
            let taken = try await item("connections", in: items(user: role))
            #expect(taken?.level == .warn)
            #expect(taken?.advice.hasPrefix("Unless it is a daemon of yours") == true)
            for connection in held { connection.close() }
        }
    }

    @Test func copiesAndForeignDatabasesFail() async throws {
        #expect(
            try await item("installation", in: items("installation: a"))?.detail == "this database is not adopted"
        )
        try sql("SELECT fanfare.adopt('b')")
        let foreign = try await items("installation: a").filter { $0.name == "installation" && $0.level == .fail }
        #expect(foreign.first?.detail.contains("belongs to installation b") == true)
        try sql("UPDATE fanfare.installation SET database_oid = 1")
        let copy = try await items("installation: b").filter { $0.name == "installation" && $0.level == .fail }
        #expect(copy.first?.detail.contains("copy") == true)
    }

    @Test func appsAreComparedWithCredentials() async throws {
        try sql("SELECT fanfare.adopt()")
        try sql("SELECT fanfare.register_device('shop', 'apns', 'aa01')")
        for name in ["a", "b"] {
            let rule = #"{"app": "shop", "name": "\#(name)", "event": "e", "to": {"everyone": true}, "message": {}}"#
            try sql("SELECT fanfare.put_rule($1::jsonb)", rule)
        }
        let yaml = """
            apps: { store: { apns: { team_id: ABCDEFGHIJ, key_id: ABCDEFGHIJ, key_file: nowhere.p8, topic: com.example } } }
            """
        let items = try await items(yaml)
        #expect(
            item("app shop", in: items)?.detail
                == "has apns devices and 2 rules (a, b) in the database, and no credentials: nothing is sent for it"
        )
        #expect(item("app store", in: items)?.detail == "has credentials, and neither devices nor rules")
        #expect(item("APNs key of store", in: items)?.level == .fail)
        #expect(item("APNs key of store", in: items)?.detail.contains("/etc/fanfare/nowhere.p8") == true)
    }

    @Test func providersOfAnAppAreComparedWithItsCredentials() async throws {
        try sql("SELECT fanfare.adopt()")
        try sql("SELECT fanfare.register_device('store', 'fcm', 'token')")
        let yaml = """
            apps: { store: { apns: { team_id: ABCDEFGHIJ, key_id: ABCDEFGHIJ, key_file: nowhere.p8, topic: com.example } } }
            """
        let found = try await item("app store", in: items(yaml))
        #expect(found?.level == .warn && found?.advice.hasPrefix("Add apps.store.fcm ") == true)
        try sql("SELECT fanfare.unregister_device('store', 'fcm', 'token')")
        try sql("SELECT fanfare.register_device('store', 'apns', 'aa')")
        #expect(try await item("app store", in: items(yaml)) == nil)
    }

    @Test func refusedRulesFailUnlessAnOlderVersionIsInForce() async throws {
        try sql("SELECT fanfare.adopt()")
        try sql(
            #"SELECT fanfare.put_rule('{"app": "shop", "name": "bad", "event": "e", "to": {"everyone": true}, "message": {}}')"#
        )
        try sql("UPDATE fanfare.rule_versions SET state = 'refused', reason = 'message: is missing'")
        let refused = try await item("rule shop/bad", in: items())
        #expect(refused?.level == .fail)
        #expect(refused?.detail == "version 1 is refused: message: is missing")
        try sql(
            """
            INSERT INTO fanfare.rule_versions (rule_id, version, definition, state, app_id, event_type, rule_created_at,
                audience, kind, lane)
            SELECT rule_id, 0, '{}', 'active', 1, 'e', clock_timestamp(), 'everyone', 'device', 1
            FROM fanfare.rule_versions
            """
        )
        #expect(try await item("rule shop/bad", in: items())?.level == .warn)
    }

    @Test func alarmsAreWarnings() async throws {
        try sql("SELECT fanfare.adopt()")
        try sql("INSERT INTO fanfare.alarms (name, detail) VALUES ('prune_fuse/shop', 'too many')")
        #expect(try await item("alarm: prune_fuse/shop", in: items())?.level == .warn)
    }

    @Test func anUnreachableDatabaseIsOneItem() async throws {
        var configuration = try Configuration.parse(
            nil,
            named: "",
            directory: "/",
            environment: ["DATABASE_URL": "postgres://127.0.0.1:1/app"]
        )
        #expect(item("proxy", in: await Checkup(configuration, environment: [:]).items(online: false)) == nil)
        configuration.send.proxy = try HTTPProxy("http://proxy:3128")
        let items = await Checkup(configuration, environment: [:]).items(online: false)
        #expect(item("proxy", in: items)?.detail.hasPrefix("http://proxy:3128 carries") == true)
        #expect(items.last?.name == "database" && items.last?.level == .fail)
        configuration.send.proxy = try HTTPProxy("http://user@proxy:3128")
        configuration.send.proxy?.password = ProxyPassword(file: "/p") { throw CancellationError() }
        let withoutPassword = await Checkup(configuration, environment: [:]).items(online: false)
        #expect(item("proxy", in: withoutPassword)?.level == .fail)
    }
}
