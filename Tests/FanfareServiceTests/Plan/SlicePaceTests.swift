import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// A slicer that has planned far ahead of the senders pauses.
@Suite(.database)
struct SlicePaceTests {
    @Test func whatWaitsIsCountedByAppAndLane() throws {
        let world = try World()
        let version = try world.rule("r", event: "e", to: #"{"topic": "all"}"#)
        let device = try world.device("aa")
        _ = try world.connection.query("SELECT fanfare.register_device('other', 'apns', 'bb')")
        let app = try #require(
            Int16(try world.connection.text("SELECT id FROM fanfare.apps WHERE name = 'shop'") ?? "")
        )
        func queue(
            _ count: Int,
            app: String = "shop",
            lane: Int = 2,
            owner: String = "NULL",
            isRetry: Bool = false,
            gate: Int = 0,
            notBefore: String = "now()"
        )
            throws
        {
            try world.connection.execute(
                """
                INSERT INTO fanfare.batches
                    (rule_version, lane, target_id, event_id, device_ids, owner, lease_token, is_retry, gate_id, not_before)
                SELECT \(version), \(lane), t.id, n, ARRAY[\(device)], \(owner), \(owner), \(isRetry), \(gate),
                    \(notBefore)
                FROM generate_series(1, \(count)) AS n, fanfare.targets AS t JOIN fanfare.apps AS a ON a.id = t.app_id
                WHERE a.name = '\(app)' AND t.environment = 'production'
                """
            )
        }
        func areMany(gate: Int32 = 0) throws -> Bool? {
            try world.connection.run(SQL.areManyWaiting(app, 2, 3, [gate])).first
        }
        try queue(5, app: "other")
        try queue(5, lane: 1)
        try queue(5, owner: "1")
        try queue(5, isRetry: true)
        try queue(5, notBefore: "now() + interval '1 hour'")
        try queue(5, gate: 3)
        #expect(try areMany() == false)
        try queue(2)
        #expect(try areMany() == false)
        try queue(1)
        #expect(try areMany() == true)
        #expect(try areMany(gate: 3) == true)
        #expect(try areMany(gate: 4) == false)
    }

    @Test func planningGoesOnHoweverManyWait() throws {
        var settings = StageSettings()
        // With this size the first of three slices exceeds the allowed lead.
        settings.batchSize = 100
        let world = try World(settings: settings)
        try world.device("aa")
        try world.connection.execute(
            """
            INSERT INTO fanfare.devices (app_id, target_id, provider, token, token_hash)
            SELECT app_id, target_id, 'apns', g::text, sha256(g::text::bytea)
            FROM fanfare.devices, generate_series(1, 45000) AS g;
            """
        )
        try world.rule("r", event: "e", to: #"{"everyone": true}"#)
        try world.emit("e")
        try world.plan()
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches") > 400)
        #expect(try world.connection.number("SELECT sum(cardinality(device_ids)) FROM fanfare.batches") == 45_001)
    }
}
