import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Opt-outs from categories, and snoozes.
@Suite(.database)
struct PreferenceTests {
    private static let all = #"{"everyone": true}"#
    private static let marketing = #""category": "marketing""#

    @Test func whatUsersSaidIsLookedAtWhenTheirTokensAre() throws {
        let world = try World()
        for (number, user) in ["ann", "bob", "cid", "dan", "eve", nil].enumerated() {
            try world.device("aa1\(number)", user: user)
        }
        try world.device("aa20", user: "ann")
        try world.rule("sale", event: "sale", to: Self.all, Self.marketing)
        try world.rule("code", event: "code", to: Self.all)
        try world.emit("sale")
        try world.emit("code")
        try world.plan()
        try world.connection.execute(
            """
            SELECT fanfare.set_preference('shop', 'ann', 'marketing', true), fanfare.set_preference('shop', 'bob', '*', true),
                fanfare.snooze('shop', 'cid', clock_timestamp() + interval '1 hour'),
                fanfare.set_preference('shop', 'dan', 'news', true), fanfare.snooze('shop', 'dan', now() - interval '1 hour'),
                fanfare.set_preference('shop', 'eve', 'marketing', true), fanfare.set_preference('shop', 'eve', 'marketing', false),
                fanfare.snooze('shop', 'eve', now() + interval '1 day', 'marketing'), fanfare.snooze('shop', 'eve', null, 'marketing'),
                fanfare.set_preference('other', 'eve', 'marketing', true)
            """
        )
        let prepared = try world.prepare(try world.claim())
        let sale = try #require(prepared.first { $0.batch.rule.compiled.definition.name == "sale" })
        #expect(sale.decided.map(\.outcome) == [.optedOut, .optedOut, .snoozed, .optedOut])
        #expect(sale.batch.deliveries.map(\.token) == ["aa13", "aa14", "aa15"])
        let code = try #require(prepared.first { $0.batch.rule.compiled.definition.name == "code" })
        #expect(code.decided.isEmpty && code.batch.deliveries.count == 7, "without a category it reaches everybody")
    }

    @Test func whatIsNotCommittedNeitherCountsNorIsWaitedFor() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.rule("sale", event: "sale", to: Self.all, Self.marketing)
        try world.emit("sale")
        try world.plan()
        let other = try TestDatabase.current.connect()
        try other.execute("BEGIN; SELECT fanfare.set_preference('shop', 'ann', 'marketing', true)")
        let claimed = try world.claim()
        #expect(try world.prepare(claimed).map(\.batch.deliveries.count) == [1])
        try other.execute("COMMIT")
        #expect(try world.prepare(claimed).map(\.batch.deliveries.count) == [0])
        #expect(try world.prepare(claimed).flatMap(\.decided).map(\.outcome) == [.optedOut])
    }

    @Test func whoIsForgottenHasSaidNothing() throws {
        let world = try World()
        try world.device("aa10", user: "ann")
        try world.connection.execute("INSERT INTO fanfare.cap_grants SELECT id, 'ann', '{}' FROM fanfare.apps")
        try world.connection.execute(
            """
            SELECT fanfare.set_preference('shop', 'ann', 'a', true), fanfare.snooze('shop', 'ann', now()),
                fanfare.set_preference('shop', 'bob', 'a', true), fanfare.set_preference('other', 'ann', 'a', true)
            """
        )
        #expect(try world.connection.number("SELECT fanfare.forget_user('shop', 'ann')") == 1)
        let left = """
            SELECT a.name || ' ' || p.user_id FROM fanfare.preferences AS p JOIN fanfare.apps AS a ON a.id = p.app_id ORDER BY 1
            """
        #expect(try world.connection.column(left) == ["other ann", "shop bob"])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.cap_grants") == 0)
    }

    @Test(arguments: [
        ("set_preference('shop', '', 'a', true)", "user_id: names nobody"),
        ("set_preference('shop', NULL, 'a', true)", "user_id: names nobody"),
        ("set_preference('shop', repeat('é', 1025), 'a', true)", "user_id: is longer than 2048 bytes"),
        ("set_preference('shop', 'u', 'a b', true)", "category: there can be none called 'a b'"),
        ("set_preference('shop', 'u', NULL, true)", "category: there can be none called NULL"),
        ("set_preference('shop', 'u', 'a', NULL)", "opted_out: is null"),
        ("set_preference('my shop', 'u', 'a', true)", "no app can be called 'my shop'"),
        ("snooze('shop', 'u', 'infinity')", "until: never ends"),
        ("snooze('shop', 'u', now(), '**')", "category: there can be none called '**'"),
    ])
    func whatIsWrongIsRefused(call: String, message: String) throws {
        let connection = try TestDatabase.current.connect()
        let error = connection.refusal("SELECT fanfare.\(call)")
        #expect(error?.sqlState == "22023" && error?.hint != nil)
        #expect(error?.message == message)
        #expect(try connection.number("SELECT count(*) FROM fanfare.preferences") == 0)
    }
}
