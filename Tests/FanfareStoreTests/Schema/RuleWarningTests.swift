import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService

/// Rules that are accepted but are probably mistakes: their author and the operator are warned.
@Suite(.database)
struct RuleWarningTests {
    private let world: World

    init() throws {
        world = try World()
    }

    private func warnings(_ name: String, _ event: String, to: String, _ more: String) throws -> [String] {
        var told: [String] = []
        world.connection.noticeHandler = { told.append("\($0.message) | \($0.hint ?? "")") }
        defer { world.connection.noticeHandler = nil }
        let message = #""message": {"notification": {"title": "T"}}"#
        let rule = #"{"app": "shop", "name": "\#(name)", "event": "\#(event)", "to": \#(to), \#(message), \#(more)}"#
        _ = try world.connection.query("SELECT fanfare.put_rule($1::jsonb)", rule)
        return told.filter { !$0.hasPrefix("the app") }
    }

    @Test func aColumnThatAWatchedTableLacksIsTold() throws {
        try world.connection.execute(
            """
            CREATE TABLE public.orders (id int PRIMARY KEY, user_id text, payment_status text);
            SELECT fanfare.watch_table('public.orders', 'pay')
            """
        )
        let when = #""when": "$.new.payment_staus == \"paid\" && $.op == \"update\"""#
        #expect(
            try warnings("wrong", "pay", to: #"{"users": "$.new.customer"}"#, when) == [
                "shop/wrong: when: new.payment_staus is not there in what the watched table emits | Did you mean new.payment_status?",
                "shop/wrong: to.users: new.customer is not there in what the watched table emits | Look at the table's columns.",
            ]
        )
        let right = #""when": "$.new.payment_status == \"paid\" && $.old.payment_status != \"paid\"""#
        #expect(try warnings("right", "pay", to: #"{"users": "$.new.user_id"}"#, right).isEmpty)
        #expect(try warnings("other", "paid", to: #"{"users": "$.new.customer"}"#, when).isEmpty, "nothing is known")
    }

    @Test func aTimeToLiveShorterThanTheNightIsTold() throws {
        let users = #"{"users": "$.u"}"#
        let night = #""quiet_hours": {"from": "22:00", "until": "08:00"}"#
        let told = "shop/short: ttl: 9h is shorter than the quiet hours, which last 10 h | "
        #expect(try warnings("short", "e", to: users, night + #", "ttl": "9h""#).map { $0.hasPrefix(told) } == [true])
        #expect(try warnings("long", "e", to: users, night + #", "ttl": "10h""#).isEmpty)
        let drop = #""quiet_hours": {"from": "22:00", "until": "08:00", "mode": "drop"}, "ttl": "1h""#
        #expect(try warnings("drop", "e", to: users, drop).isEmpty)
        try world.connection.execute("SELECT fanfare.put_policy('shop', '{\(night)}')")
        #expect(try warnings("app", "e", to: users, #""ttl": "1h""#).count == 1)
        #expect(try warnings("off", "e", to: users, #""ttl": "1h", "quiet_hours": "off""#).isEmpty)
        #expect(try warnings("urgent", "e", to: users, #""ttl": "1h", "lane": "transactional""#).isEmpty)
    }

    @Test func anAppWithoutCredentialsAndAProvidersWordsAreInHealth() throws {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.device("aa01", user: "ann")
        try world.emit("e", #"{"u": "ann"}"#)
        try world.plan()
        let report = """
            {"unserved": ["shop/apns", "shop/fcm"], "breakers": {"a/apns/production": "open"}, \
            "failures": {"a/apns/production": "Connection refused"}}
            """
        _ = try world.connection.query(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version, report)
            VALUES ('d', 'h', 1, 'v', now() + interval '1 h', 1, $1::jsonb)
            """,
            report
        )
        let ill =
            "SELECT name || ' | ' || detail FROM fanfare.health WHERE name ~ '^(no_credentials|breaker)' ORDER BY name"
        let told = [
            "breaker: a/apns/production | only probes are sent, by 1 of the daemons; Connection refused",
            "no_credentials: shop/apns | 1 push is waiting, and no daemon has credentials for apns in app shop",
        ]
        #expect(try world.connection.column(ill) == told, "of fcm nothing waits")
        try world.connection.execute(
            "INSERT INTO fanfare.instances (name, host, pid, version, lease_until, schema_version) SELECT 'e', 'h', 2, 'v', lease_until, 5 FROM fanfare.instances"
        )
        #expect(try world.connection.column(ill) == [told[0]], "the other one has them")
    }
}
