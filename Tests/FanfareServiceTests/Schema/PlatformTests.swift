import FanfareCore
import FanfareProviders
import PostgresClient
import TestKit
import Testing

/// What makes a platform in SQL is its row.
@Suite(.database)
struct PlatformTests {
    private let connection: PostgresConnection

    init() throws {
        connection = try TestDatabase.current.connect()
    }

    private func register(_ arguments: String) throws -> Int64 {
        try connection.number("SELECT fanfare.register_device('shop', \(arguments))")
    }

    @Test func allOutcomesOfAProviderAreAPlatforms() throws {
        let strangers = """
            SELECT DISTINCT provider FROM fanfare.outcome_codes
            WHERE provider NOT IN (SELECT name FROM fanfare.platforms)
            """
        #expect(try connection.column(strangers).isEmpty)
        let names = try connection.column("SELECT name FROM fanfare.platforms ORDER BY name")
        #expect(Set(names) == Set(Outcome.all.compactMap { $0.provider?.rawValue }))
    }

    /// One without p256dh, whose `auth` has a shape of its own.
    private static let pager = """
        INSERT INTO fanfare.platforms (name, label, both_environments, folds_case, token_shape, token_fault, token_hint,
            has_p256dh, auth_shape, auth_fault, auth_hint)
        VALUES ('pager', 'a pager', true, true, '^[a-z]+$', 'this is no pager', 'Pass its name.',
            false, '^[0-9]{4}$', 'auth is no PIN', 'Pass four digits.')
        """

    /// An older daemon would not know what to do with its devices.
    @Test func aPlatformOfANewerVersionKeepsOlderDaemonsOut() throws {
        try connection.execute(Self.pager)
        try connection.execute("UPDATE fanfare.platforms SET oldest_daemon = 4 WHERE name = 'pager'")
        let enter = """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until)
            VALUES ('old', 'here', 7, '0.3', clock_timestamp() - interval '50 s')
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
        #expect(try connection.number("SELECT oldest_daemon FROM fanfare.schema_version") == 4)
        #expect(connection.refusal(enter)?.sqlState == "55000")
        try connection.execute(
            enter.replacing("lease_until)", with: "lease_until, schema_version)")
                .replacing("'50 s')", with: "'50 s', 4)")
        )
    }

    @Test func aRowMakesAPlatform() throws {
        #expect(connection.refusal("SELECT fanfare.register_device('shop', 'pager', 'Bee')") != nil)
        try connection.execute(Self.pager)
        let id = try register("'pager', 'Bee', 'ann', auth => '1234'")
        #expect(try connection.column("SELECT token || ' ' || auth FROM fanfare.devices") == ["bee 1234"])
        let environments = "SELECT environment FROM fanfare.targets WHERE platform = 'pager' ORDER BY 1"
        #expect(try connection.column(environments) == ["production", "sandbox"])
        #expect(try connection.number("SELECT fanfare.device_id('shop', 'pager', 'BEE')") == id)
        #expect(try register("'pager', 'bEE', locale => 'es'") == id, "its key is there")
        for (arguments, message) in [
            ("'pager', '1'", "this is no pager"), ("'pager', 'wasp'", "a pager needs auth"),
            ("'pager', 'wasp', auth => '12345'", "auth is no PIN"),
            ("'pager', 'wasp', auth => '1234', p256dh => 'B'", "a pager has no p256dh"),
            ("'pager', 'wasp', p256dh => 'B'", "a pager has no p256dh"),
            ("'pager', 'wasp', 'ann', replaces => 'BEE'", "a pager needs auth"),
            ("'fcm', 'wasp', auth => '1234'", "FCM has no auth"), ("'bee', 'wasp'", "unknown platform 'bee'"),
        ] {
            let error = try #require(connection.refusal("SELECT fanfare.register_device('shop', \(arguments))"))
            #expect(error.message == message && error.sqlState == "22023" && error.hint?.isEmpty == false)
        }
        #expect(try register("'pager', 'wasp', 'ann', auth => '5678', replaces => 'BEE'") == id)
        #expect(try connection.text("SELECT fanfare.unregister_device('shop', 'pager', 'WASP')") == "t")
    }
}
