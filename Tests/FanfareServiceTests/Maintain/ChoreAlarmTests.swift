import PostgresClient
import TestKit
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// `fanfare.health` shows maintenance tasks that keep failing.
@Suite(.database)
struct ChoreAlarmTests {
    private let world: World

    init() throws {
        world = try World()
    }

    private func alarms() throws -> [String] {
        try world.connection.column(
            "SELECT name || ': ' || detail FROM fanfare.health WHERE name = 'alarm: chore/fold_stats' AND NOT ok"
        )
    }

    @Test func theThirdTimeInARowIsTold() throws {
        try world.connection.execute("ALTER TABLE fanfare.stats_pending RENAME COLUMN deliveries TO hidden")
        var chores = world.chores()
        for _ in 0..<2 {
            #expect(throws: PostgresError.self) { try chores.run(on: world.connection) }
            #expect(try alarms().isEmpty)
        }
        for count in 3...4 {
            #expect(throws: PostgresError.self) { try chores.run(on: world.connection) }
            let told = try alarms()
            let words = "alarm: chore/fold_stats: failed \(count) times in a row: "
            #expect(told.count == 1 && told[0].hasPrefix(words), "\(told)")
        }
        var others = world.chores()
        #expect(throws: PostgresError.self) { try others.run(on: world.connection) }
        #expect(try alarms().count == 1, "a new leader that fails too leaves it")
        try world.connection.execute("ALTER TABLE fanfare.stats_pending RENAME COLUMN hidden TO deliveries")
        try others.run(on: world.connection)
        #expect(try alarms().isEmpty)
    }

    /// Debezium creates such a publication by default.
    @Test func publishedTablesTakeUpdatesAndDeletes() throws {
        try world.connection.execute("SET client_min_messages = error; CREATE PUBLICATION everything FOR ALL TABLES")
        // Rows of the outbox are never updated.
        let changes = try world.connection.column(
            """
            SELECT format('UPDATE %1$s SET %2$I = %2$I WHERE false; DELETE FROM %1$s WHERE false', c.oid::regclass, a.attname)
            FROM pg_class AS c CROSS JOIN LATERAL (
                SELECT attname FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND attidentity = '' LIMIT 1) AS a
            WHERE c.relnamespace = 'fanfare'::regnamespace AND c.relkind IN ('r', 'p') AND c.relname <> 'outbox'
            """
        )
        #expect(changes.count > 50)
        for change in changes { #expect(world.connection.refusal(change) == nil, "\(change)") }
        var chores = world.chores()
        try chores.run(on: world.connection)
    }
}
