import FanfareCore
import FanfareProviders
import Foundation
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit

/// A provider is defined in SQL by its row.
@Suite(.database)
struct ProviderTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    private func register(_ arguments: String) throws -> Int64 {
        try connection.number("SELECT fanfare.register_device('shop', \(arguments))")
    }

    @Test func allOutcomesOfAProviderAreAProviders() throws {
        let strangers = """
            SELECT DISTINCT provider FROM fanfare.outcome_codes
            WHERE provider NOT IN (SELECT name FROM fanfare.providers)
            """
        #expect(try connection.column(strangers).isEmpty)
        let names = try connection.column("SELECT name FROM fanfare.providers ORDER BY name")
        #expect(Set(names) == Set(Outcome.all.compactMap { $0.provider?.rawValue }))
    }

    /// A provider without p256dh, whose `auth` has its own format.
    private static let pager = """
        INSERT INTO fanfare.providers (name, label, both_environments, folds_case, token_shape, token_error, token_hint,
            has_p256dh, auth_shape, auth_error, auth_hint)
        VALUES ('pager', 'a pager', true, true, '^[a-z]+$', 'this is not a pager', 'Pass its name.',
            false, '^[0-9]{4}$', 'auth is not a PIN', 'Pass four digits.')
        """

    /// An older daemon could not handle its devices.
    @Test func aProviderOfANewerVersionKeepsOlderDaemonsOut() throws {
        try connection.execute("UPDATE fanfare.schema_version SET version = 2")
        try connection.execute(Self.pager)
        try connection.execute("UPDATE fanfare.providers SET oldest_daemon = 2 WHERE name = 'pager'")
        let enter = """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ('old', 'here', 7, '0.3', clock_timestamp() - interval '50 s', 1)
            """
        try connection.execute(enter)
        let pager = "SELECT fanfare.register_device('shop', 'pager', 'bee', auth => '1234')"
        let refused = try #require(connection.refusal(pager))
        #expect(refused.sqlState == "55000" && refused.hint == "Upgrade and restart it, then try again.")
        #expect(refused.message == "a daemon that is too old for this is running: old (Fanfare 0.3, process 7 on here)")
        _ = try register("'apns', 'a1'")
        #expect(connection.refusal(enter) == nil, "nothing of it is there yet")
        try connection.execute("UPDATE fanfare.instances SET lease_until = lease_until - interval '1 minute'")
        try connection.execute(pager)
        #expect(try connection.number("SELECT oldest_daemon FROM fanfare.schema_version") == 2)
        #expect(connection.refusal(enter)?.sqlState == "55000")
        try connection.execute(enter.replacing("'50 s', 1)", with: "'50 s', 2)"))
    }

    /// If a daemon registers while the required version is raised, the later of the two waits for the earlier one, and
    /// sees it even with an older snapshot.
    @Test func anEntryAndARaiseAtOnceSeeEachOther() async throws {
        try connection.execute("UPDATE fanfare.schema_version SET version = 2")
        let other = try TestDatabase.current.connect()
        let enter = """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ('old', 'here', 7, '0.3', clock_timestamp() + interval '15 s', 1)
            """
        // A newer daemon does not wait.
        try connection.execute("BEGIN")
        try connection.execute("SELECT fanfare.require_daemon(2)")
        try other.execute("SET lock_timeout = '100ms'")
        try other.execute(enter.replacing("interval '15 s', 1)", with: "interval '15 s', 2)"))
        #expect(other.refusal(enter)?.sqlState == "55P03")
        try connection.execute("ROLLBACK")
        // The snapshot is older than the daemon's registration.
        try connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        #expect(try connection.number("SELECT count(*) FROM fanfare.instances WHERE schema_version = 1") == 0)
        try other.execute(enter)
        #expect(connection.refusal("SELECT fanfare.require_daemon(2)")?.sqlState == "40001")
        try connection.execute("ROLLBACK")
        #expect(connection.refusal("SELECT fanfare.require_daemon(2)")?.sqlState == "55000")
    }

    /// An older daemon would reject a rule with members that it does not know, and the rejection would be stored.
    @Test(arguments: [
        #"{"to": {"everyone": true, "provider": "webhook"}}"#, #"{"message": {"webhook": {"data": {"a": 1}}}}"#,
        #"{"locales": {"es": {"webhook": {"data": {"a": 1}}}}}"#,
    ])
    func aRuleThatNamesAProviderNeedsItsDaemon(change: String) throws {
        try connection.execute("UPDATE fanfare.schema_version SET version = 2")
        try connection.execute(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version)
            VALUES ('old', 'here', 7, '0.3', clock_timestamp() + interval '15 s', 1);
            UPDATE fanfare.providers SET oldest_daemon = 2 WHERE name = 'webhook'
            """
        )
        let plain = #"""
            {"app": "shop", "name": "r", "event": "e", "to": {"everyone": true}, "message": {"notification": {"title": "t"}}}
            """#
        #expect(try connection.text("SELECT fanfare.put_rule('\(plain)')") == "1")
        #expect(connection.refusal("SELECT fanfare.put_rule('\(plain)'::jsonb || '\(change)')")?.sqlState == "55000")
        #expect(try connection.number("SELECT count(*) FROM fanfare.rule_versions") == 1)
    }

    /// The daemon and the database accept the same secrets.
    @Test func secretsOfWebhooksAreTheSameInBoth() throws {
        let bodies = (21...67).map { Data((0..<$0).map { UInt8($0 * 7 & 255) }).base64EncodedString() }
        let odd = [
            String(repeating: "A", count: 33), String(repeating: "A", count: 34) + "AB==",
            String(repeating: "-", count: 32), String(repeating: "A", count: 30) + "\nAA", "",
        ]
        let shape = "SELECT $1 ~ auth_shape FROM fanfare.providers WHERE name = 'webhook'"
        for text in (bodies + odd).map({ "whsec_" + $0 }) + [String(repeating: "A", count: 32)] {
            #expect(try (connection.query(shape, text).rows[0][0] == "t") == (WebhookSecret(text) != nil), "\(text)")
        }
        #expect(bodies.count { WebhookSecret("whsec_" + $0) != nil } == 41)
    }

    @Test func aRowMakesAProvider() throws {
        #expect(connection.refusal("SELECT fanfare.register_device('shop', 'pager', 'Bee')") != nil)
        try connection.execute(Self.pager)
        let id = try register("'pager', 'Bee', 'ann', auth => '1234'")
        #expect(try connection.column("SELECT token || ' ' || auth FROM fanfare.devices") == ["bee 1234"])
        let environments = "SELECT environment FROM fanfare.targets WHERE provider = 'pager' ORDER BY 1"
        #expect(try connection.column(environments) == ["production", "sandbox"])
        #expect(try connection.number("SELECT fanfare.device_id('shop', 'pager', 'BEE')") == id)
        #expect(try register("'pager', 'bEE', locale => 'es'") == id, "its key is there")
        for (arguments, message) in [
            ("'pager', '1'", "this is not a pager"), ("'pager', 'wasp'", "a pager needs auth"),
            ("'pager', 'wasp', auth => '12345'", "auth is not a PIN"),
            ("'pager', 'wasp', auth => '1234', p256dh => 'B'", "a pager has no p256dh"),
            ("'pager', 'wasp', p256dh => 'B'", "a pager has no p256dh"),
            ("'pager', 'wasp', 'ann', replaces => 'BEE'", "a pager needs auth"),
            ("'fcm', 'wasp', auth => '1234'", "FCM has no auth"), ("'bee', 'wasp'", "unknown provider 'bee'"),
        ] {
            let error = try #require(connection.refusal("SELECT fanfare.register_device('shop', \(arguments))"))
            #expect(error.message == message && error.sqlState == "22023" && error.hint?.isEmpty == false)
        }
        #expect(try register("'pager', 'wasp', 'ann', auth => '5678', replaces => 'BEE'") == id)
        #expect(try connection.text("SELECT fanfare.unregister_device('shop', 'pager', 'WASP')") == "t")
    }
}
