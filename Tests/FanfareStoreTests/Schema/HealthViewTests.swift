import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The rows of `health` about tasks that one daemon does for all, and about authors' SQL.
@Suite(.database)
struct HealthViewTests {
    let world: World

    init() throws {
        world = try World()
    }

    /// Inserts a daemon that has been running for the given time and may do these tasks.
    private func daemon(since age: String, leads: String = "{}", roles: String = #"["maintenance"]"#) throws {
        _ = try world.connection.query(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, started_at, lease_until, leads, report, schema_version)
            VALUES ('d', 'h', 1, '1', now() - $1::interval, now() + interval '15 s', $2::text[],
                jsonb_build_object('roles', $3::jsonb), 5)
            """,
            age,
            leads,
            roles
        )
    }

    private func isOK(_ name: String) throws -> String? {
        try world.connection.text("SELECT ok FROM fanfare.health WHERE name = $1", name)
    }

    @Test func aRoleThatNobodyLeadsIsShownAfterHalfAMinute() throws {
        #expect(try isOK("role: maintenance") == nil, "nobody lives: that is said already")
        try daemon(since: "20 s")
        #expect(try isOK("role: maintenance") == "t", "it may be about to")
        #expect(try isOK("role: channels") == nil, "there are none to listen to")
        try daemon(since: "40 s", roles: #"["channels", "maintenance"]"#)
        #expect(try isOK("role: maintenance") == "f")
        #expect(try isOK("role: channels") == "f")
        let renewal = RenewLease(owner: 0, leaseMicroseconds: 1, leads: ["channels", "maintenance"], report: "{}")
        _ = try world.connection.run(renewal)
        #expect(try isOK("role: channels") == "t", "somebody did a moment ago")
        try world.connection.execute("UPDATE fanfare.leaders SET led_at = now() - interval '31 s'")
        #expect(try isOK("role: maintenance") == "f")
        try daemon(since: "1 h", leads: "{maintenance}")
        #expect(try isOK("role: maintenance") == "t")
        #expect(try isOK("role: channels") == "f")
    }

    @Test func anAuditThatHasNotLookedIsShownAfterTwoMinutes() throws {
        #expect(try isOK("audit") == nil)
        try daemon(since: "119 s")
        #expect(try isOK("audit") == "t")
        try daemon(since: "121 s")
        #expect(try isOK("audit") == "f")
        try world.connection.execute(
            """
            INSERT INTO fanfare.audits (name, found, detail, checked_at) VALUES
                ('a', 0, 'none', now() - interval '5 min'), ('b', 0, 'none', now() - interval '1 min')
            """
        )
        #expect(try isOK("audit") == "t")
        try world.connection.execute("UPDATE fanfare.audits SET checked_at = now() - interval '3 min'")
        #expect(try isOK("audit") == "f")
    }

    @Test func howLongItLastsIsWrittenForPeople() throws {
        let spans = "'{26.9 s, -1 s, 60 s, 125 s, 1 h, 3723 s, 2 d, 53 h, 1 month}'::interval[]"
        #expect(
            try world.connection.column("SELECT fanfare.lasting(s) FROM unnest(\(spans)) AS s")
                == ["26 s", "0 s", "1 min", "2 min 5 s", "1 h", "1 h 2 min", "2 d", "2 d 5 h", "30 d"]
        )
        // One transaction, so that now() does not change.
        try world.connection.execute("BEGIN")
        try daemon(since: "3723 s")
        let detail = try world.connection.text("SELECT detail FROM fanfare.health WHERE name = 'audit'")
        #expect(detail == "last run 1 h 2 min ago")
        try world.connection.execute("ROLLBACK")
        let view = try world.connection.text("SELECT pg_get_viewdef('fanfare.health'::regclass)")
        #expect(view?.contains("lasting(") == true && view?.contains("date_trunc") == false)
    }

    @Test func aBadgeQueryThatFailsIsShownAsLongAsItsVersionIsInForce() throws {
        let badge = #""badge_sql": "SELECT id, n FROM public.unread WHERE id = ANY ($1)""#
        try world.connection.execute("CREATE TABLE public.unread (id text, n bigint)")
        let version = try world.rule("r", event: "e", to: #"{"users": "$.u"}"#, badge)
        let failure = SQL.storeBadgeFailure(Int32(version), "no such table")
        for _ in 0..<2 { try world.connection.run(failure) }
        let detail = "SELECT detail FROM fanfare.health WHERE name = 'badge_sql: shop/r' AND NOT ok"
        #expect(try world.connection.column(detail) == ["no such table"])
        try world.connection.run(SQL.storeBadgeFailure(Int32(version), nil))
        #expect(try world.connection.column(detail).isEmpty)
        try world.connection.run(failure)
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        #expect(try world.connection.column(detail).isEmpty, "the version in force has none")
    }
}
