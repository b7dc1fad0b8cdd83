import FanfareCore
import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Events for what clocks show: in a time zone, or in each recipient's own.
@Suite(.database)
struct LocalEventTests {
    @Test func eachZoneIsDueWhenItsClocksShowTheTime() throws {
        let world = try World()
        for (zone, shown, utc) in scheduledTimes {
            let id = try world.connection.number("SELECT fanfare.emit_local('r', $1, $2)", shown, zone)
            let at =
                "SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') FROM fanfare.scheduled WHERE id = $1::bigint"
            #expect(try world.connection.text(at, String(id)) == utc, "\(zone) \(shown)")
        }
    }

    /// Devices in three zones, and one without a zone, of one user; and a topic of them.
    private func devices(_ world: World) throws {
        for (index, zone) in ["Pacific/Kiritimati", "Africa/Lagos", "Pacific/Niue"].enumerated() {
            let device = try world.device("aa1\(index)", user: "ann", "time_zone => '\(zone)'")
            _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(device))
        }
        let device = try world.device("aa19", user: "ann")
        _ = try world.connection.query("SELECT fanfare.subscribe($1::bigint, 'news')", String(device))
        _ = try world.connection.query("SELECT fanfare.put_policy('shop', '{\"time_zone\": \"Asia/Tokyo\"}')")
    }

    /// The minutes of all batches from what UTC clocks show.
    private static let due = """
        SELECT extract(epoch FROM b.due_at - (e.wall AT TIME ZONE 'UTC'))::int / 60 || ' ' || sum(cardinality(b.device_ids))
            || ' ' || bool_and(b.not_before >= b.due_at)
        FROM fanfare.batches AS b JOIN fanfare.event_log AS e ON e.id = b.event_id GROUP BY b.due_at, e.wall ORDER BY b.due_at
        """

    @Test(arguments: [
        #"{"users": "$.u"}"#, #"{"topic": "news"}"#, #"{"condition": "'news' in topics"}"#, #"{"everyone": true}"#,
        #"{"tokens": "$.t", "provider": "apns"}"#, #"{"users_sql": "SELECT 'ann'"}"#,
    ])
    func recipientsGetItAtTheirOwnTime(to: String) throws {
        let world = try World()
        try devices(world)
        try world.rule("r", event: "r", to: to)
        // A second rule of the type, and an event at once, keep their own times.
        try world.rule("too", event: "other", to: #"{"users": "$.u"}"#)
        let payload = #"{"u": "ann", "t": ["aa10", "aa11", "aa12", "aa19"]}"#
        let id = try world.connection.number(
            "SELECT fanfare.emit_local('r', date_trunc('minute', now() AT TIME ZONE 'UTC') + interval '16 h', 'recipient', $1::jsonb)",
            payload
        )
        let hours = "SELECT round(extract(epoch FROM at - now()) / 3600) FROM fanfare.scheduled WHERE id = $1::bigint"
        #expect(try world.connection.number(hours, String(id)) == 1)
        try world.connection.execute("UPDATE fanfare.scheduled SET at = now()")
        #expect(try world.connection.run(SQL.emitScheduled(10)) == [1])
        try world.plan()
        if to.contains("users_sql") {
            let runner = world.queryRunner()
            while try runner.takeTurn(on: world.connection) {}
        }
        #expect(try world.connection.column(Self.due) == ["-840 1 true", "-540 1 true", "-60 1 true", "660 1 true"])
        #expect(try world.claim().isEmpty)
    }

    @Test func aRuleThatGathersRefusesIt() throws {
        let world = try World()
        try world.rule("r", event: "r", to: #"{"users": "$.u"}"#, #""digest": {"every": "1m", "by": "{{u}}"}"#)
        _ = try world.connection.query(
            "SELECT fanfare.emit_local('r', now()::timestamp, 'recipient', '{\"u\": \"ann\"}')"
        )
        try world.connection.execute("UPDATE fanfare.scheduled SET at = now()")
        #expect(try world.connection.run(SQL.emitScheduled(10)) == [1])
        try world.plan()
        let detail = "SELECT detail FROM fanfare.events WHERE type = 'r'"
        #expect(
            try world.connection.text(detail)?.contains("it gathers events, which have no time for each recipient")
                == true
        )
    }

    /// An older daemon would send such an event to all at once.
    @Test func anOlderDaemonIsLockedOut() throws {
        let world = try World()
        try world.connection.execute(
            """
            INSERT INTO fanfare.instances (name, host, pid, version, schema_version, lease_until)
            VALUES ('old', 'h', 1, '0.1.0', 1, now() + interval '1 h')
            """
        )
        let error = #expect(throws: PostgresError.self) {
            try world.connection.query("SELECT fanfare.emit_local('r', now()::timestamp, 'recipient')")
        }
        #expect(error?.message.contains("a daemon that is too old for this is running: old (Fanfare 0.1.0") == true)
        _ = try world.connection.query(
            "SELECT fanfare.emit_local('r', now()::timestamp, 'Europe/Madrid'), fanfare.emit_at('r', now())"
        )
    }
}
