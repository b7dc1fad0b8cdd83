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
