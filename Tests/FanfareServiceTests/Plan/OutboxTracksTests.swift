import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Events that are planned before many older ones.
@Suite(.database)
struct OutboxTracksTests {
    let world: World

    init() throws {
        world = try World()
        try world.device("aa", user: "u")
    }

    private func emit(_ count: Int, type: String) throws {
        try world.connection.execute(
            "SELECT fanfare.emit('\(type)', '{\"u\": \"u\"}') FROM generate_series(1, \(count))"
        )
    }

    /// Returns how many events of a type were planned before a given one.
    private func planned(_ type: String, before event: Int64) throws -> Int64 {
        try world.connection.number(
            """
            SELECT count(*) FROM fanfare.event_log
            WHERE type = $1 AND planned_at < (SELECT planned_at FROM fanfare.event_log WHERE id = $2)
            """,
            type,
            "\(event)"
        )
    }

    private func drain() throws {
        var loop = world.loop()
        _ = try loop.begin(on: world.connection)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.outbox") == 0)
    }

    /// Reading a thousand payloads of 61 KB as text took longer than a round may.
    @Test func sizesAreKnownWithoutReadingPayloads() throws {
        try world.emit("e", "{\"u\": \"\(String(repeating: "x", count: 60_000))\"}")
        let sizes = try world.connection.run(SQL.outboxSizes(OutboxFloor(), 10, OutboxChoice()))
        #expect(sizes.count == 1)
        #expect(sizes.allSatisfy { (512..<2000).contains($0.size) }, "\(sizes)")
    }

    @Test func aTransactionalEventDoesNotWaitForABacklog() throws {
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.rule("t", event: "t", to: #"{"users": "$.u"}"#, #""lane": "transactional""#)
        try emit(5000, type: "e")
        let event = try world.emit("t", #"{"u": "u"}"#)
        try drain()
        #expect(try world.fate(event) == "planned")
        #expect(try planned("e", before: event) == 0, "a new session begins with what is urgent")
    }

    @Test func aTypeWithManyRulesHoldsUpNoOther() throws {
        try world.rule("h", event: "h", to: #"{"users": "$.u"}"#, #""when": "$.n == 1""#)
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.connection.execute(
            """
            INSERT INTO fanfare.rules (app_id, name) SELECT 1, 'h' || g FROM generate_series(1, 400) AS g;
            INSERT INTO fanfare.rule_versions (rule_id, version, definition, state, app_id, event_type, rule_created_at, audience,
                audience_path, kind, lane, when_path)
            SELECT r.id, 1, v.definition, 'active', 1, 'h', r.created_at, v.audience, v.audience_path, v.kind, v.lane, v.when_path
            FROM fanfare.rules AS r, fanfare.rule_versions AS v WHERE r.name ~ '^h[0-9]' AND v.event_type = 'h'
            """
        )
        try emit(500, type: "h")
        let event = try world.emit("e", #"{"u": "u"}"#)
        try drain()
        #expect(try world.fate(event) == "planned")
        #expect(try planned("h", before: event) <= 50)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.events WHERE fate = 'unmatched'") == 500)
    }
}
