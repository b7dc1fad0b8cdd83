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

/// The ring of log partitions: expired ones are truncated, needed ones are kept.
@Suite(.databaseWithRing)
struct RetentionTests {
    private static let today = "((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01')"

    private func world(days: Int = 30) throws -> World {
        var settings = StageSettings()
        settings.logRetentionDays = days
        return try World(settings: settings)
    }

    /// Logs an event and its batch with dates the given number of days ago.
    ///
    /// - Returns: the event's id.
    @discardableResult
    private func log(daysAgo age: Int, in world: World) throws -> Int64 {
        try world.connection.number(
            """
            WITH ids AS (SELECT (\(Self.today) - $1::int)::bigint << 32 | 4000000000 AS id),
            batch AS (
                INSERT INTO fanfare.batch_log (day, lane, target_id, attempt, id, event_id, created_at, first_device,
                    last_device, rule_version, device_ids, outcomes)
                SELECT fanfare.ring_day(id), 1, 1, 1, id, id, now(), 1, 1, 1, '{1}', '\\x01' FROM ids
            )
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type, payload)
            SELECT fanfare.ring_day(id), 1, id, now() - $1::int * interval '1 day', 'e', '{}' FROM ids
            RETURNING id
            """,
            "\(age)"
        )
    }

    /// The ages in days of the remaining rows, which must be the same in both logs.
    private func left(in world: World) throws -> [Int64] {
        let ages = { (table: String) in
            try world.connection.column("SELECT \(Self.today) - (id >> 32) FROM \(table) ORDER BY 1").compactMap {
                Int64($0)
            }
        }
        let events = try ages("fanfare.events")
        #expect(try ages("fanfare.batch_log") == events)
        return events
    }

    private func tidyUp(_ world: World) throws {
        var chores = world.chores()
        try chores.run(on: world.connection)
    }

    @Test(arguments: [(30, [0, 1, 7, 8, 30]), (7, [0, 1, 7]), (1, [0, 1])])
    func eventsWithinRetentionAreLeftAndNoOthers(days: Int, kept: [Int64]) throws {
        let world = try world(days: days)
        for age in [0, 1, 7, 8, 30, 31] { try log(daysAgo: age, in: world) }
        try tidyUp(world)
        #expect(try left(in: world) == kept)
        try tidyUp(world)
        #expect(try left(in: world) == kept)
    }

    @Test func aReloadMovesTheEndOfRetention() throws {
        let world = try world()
        for age in [3, 20] { try log(daysAgo: age, in: world) }
        try tidyUp(world)
        #expect(try left(in: world) == [3, 20])
        var fresh = StageSettings()
        fresh.logRetentionDays = 10
        world.context.apply(fresh)
        try tidyUp(world)
        #expect(try left(in: world) == [3])
    }

    /// No daemon ran at the day's end, or a clock jumped over the ring.
    @Test(arguments: [([0, 32], [0]), ([-40, -8, 24, 56, 88], [-40, -8, 24]), ([0, 64, 320], [0])])
    func theDayThatSharesAPartitionWithANewOneDoesNotOutliveIt(ages: [Int], kept: [Int64]) throws {
        let world = try world()
        for age in ages { try log(daysAgo: age, in: world) }
        try tidyUp(world)
        #expect(try left(in: world) == kept)
    }

    /// The hash of a file that was imported, or given up, is kept for a month.
    @Test func importsAreForgottenAfterAMonth() throws {
        let world = try world()
        try world.connection.execute(
            """
            INSERT INTO fanfare.imports (app, fingerprint, file, place, line, counts, noted_at, finished_at)
            SELECT 'shop', sha256(age::text::bytea), age || ' ' || is_done, 1, 1, '{}', at, CASE WHEN is_done THEN at END
            FROM (VALUES (29, true), (31, true), (28, false), (32, false)) AS i (age, is_done)
            CROSS JOIN LATERAL (SELECT now() - age * interval '1 day' AS at) AS a
            """
        )
        try tidyUp(world)
        #expect(try world.connection.column("SELECT file FROM fanfare.imports ORDER BY 1") == ["28 false", "29 true"])
    }

    /// So is the progress of a change of FCM's topics.
    @Test func changesOfTopicsAreForgottenAfterAMonth() throws {
        let world = try world()
        try world.connection.execute(
            """
            INSERT INTO fanfare.topic_changes (app, operation, topic, fingerprint, device_id, counts, noted_at, finished_at)
            SELECT 'shop', 'subscribe', age || ' ' || is_done, '\\x01', 1, '{}', at, CASE WHEN is_done THEN at END
            FROM (VALUES (29, true), (31, true), (28, false), (32, false)) AS i (age, is_done)
            CROSS JOIN LATERAL (SELECT now() - age * interval '1 day' AS at) AS a
            """
        )
        try tidyUp(world)
        let left = try world.connection.column("SELECT topic FROM fanfare.topic_changes ORDER BY 1")
        #expect(left == ["28 false", "29 true"])
    }

    @Test func howeverManyThereAre() throws {
        let world = try world()
        try log(daysAgo: 0, in: world)
        try world.connection.execute(
            """
            INSERT INTO fanfare.event_log (day, fate, id, created_at, type)
            SELECT fanfare.ring_day(id), 3, id, now(), 'e'
            FROM generate_series(1, \(Forgetting.limit + 1)) AS g, LATERAL (SELECT (\(Self.today) - 32)::bigint << 32 | g AS id) AS i
            """
        )
        try tidyUp(world)
        #expect(try left(in: world) == [0])
    }

    /// Statements that insert or change a row so that it refers to an event, whose id is the first parameter.
    static let references = [
        "INSERT INTO fanfare.batches (event_id, rule_version, target_id, lane, device_ids) VALUES ($1, 1, 1, 1, '{1}')",
        """
        INSERT INTO fanfare.batches (event_ids, rule_version, target_id, lane, device_ids)
        VALUES (ARRAY[fanfare.new_event_id(), $1], 1, 1, 1, '{1,2}')
        """,
        """
        INSERT INTO fanfare.plans (event_id, rule_version, app_id, lane, clauses, last_device)
        VALUES ($1, 1, 1, 1, '[{}]', 9)
        """,
        "INSERT INTO fanfare.audience_queries (event_id, rule_version) VALUES ($1, 1)",
        "INSERT INTO fanfare.open_digests (rule_id, key, began_at, due_at, count, event_ids) VALUES (1, 'k', now(), now(), 1, ARRAY[$1::bigint])",
        "INSERT INTO fanfare.outbox (id, type, payload) VALUES ($1, 'e', '{}')",
        """
        INSERT INTO fanfare.quarantine (xid, id, created_at, type, payload)
        VALUES (pg_current_xact_id(), $1, now(), 'e', '{}')
        """,
    ]

    @Test(arguments: references.prefix(5))
    func whatAQueueStillRefersToIsLeftAmongNewerOnes(insert: String) throws {
        let world = try world()
        let event = try log(daysAgo: 32, in: world)
        for age in [0, 64] { try log(daysAgo: age, in: world) }
        _ = try world.connection.query(insert, "\(event)")
        try tidyUp(world)
        let days = "SELECT \(Self.today) - (id >> 32) FROM fanfare.event_log ORDER BY 1"
        #expect(try world.connection.column(days) == ["0", "32"])
        try world.connection.execute(
            "DELETE FROM fanfare.batches; DELETE FROM fanfare.plans; DELETE FROM fanfare.audience_queries; DELETE FROM fanfare.open_digests"
        )
        try tidyUp(world)
        #expect(try left(in: world) == [0])
    }

    @Test(arguments: references)
    func whatAQueueStillRefersToIsLeft(insert: String) throws {
        let world = try world()
        let event = try log(daysAgo: 31, in: world)
        try log(daysAgo: 40, in: world)
        _ = try world.connection.query(insert, "\(event)")
        try tidyUp(world)
        let kept = "SELECT count(*) FROM fanfare.event_log WHERE id = $1"
        #expect(try world.connection.number(kept, "\(event)") == 1)
        #expect(
            try world.connection.number("SELECT count(*) FROM fanfare.event_log") == 1,
            "nobody needs the other day"
        )
        try world.connection.execute(
            """
            DELETE FROM fanfare.batches; DELETE FROM fanfare.plans; DELETE FROM fanfare.outbox;
            DELETE FROM fanfare.quarantine; DELETE FROM fanfare.audience_queries; DELETE FROM fanfare.open_digests
            """
        )
        try tidyUp(world)
        #expect(try left(in: world) == [])
    }

    @Test func anOpenReaderOnlyDelaysIt() throws {
        let world = try world()
        try log(daysAgo: 31, in: world)
        let reader = try TestDatabase.current.connect()
        try reader.execute("BEGIN; SELECT count(*) FROM fanfare.event_log")
        try tidyUp(world)
        #expect(try left(in: world) == [31])
        try reader.execute("COMMIT")
        try tidyUp(world)
        #expect(try left(in: world) == [])
    }

    @Test(arguments: [
        (SQL.forgetKeys.sql, "event_keys_created"), (SQL.forgetCancels.sql, "cancels_created"),
        (SQL.forgetCollapseKeys.sql, "collapse_latest_created"), (SQL.foldStats.sql, "stats_pending_at"),
    ])
    func whatIsForgottenIsFoundByItsAge(sql: String, index: String) throws {
        let binds: [String?] = sql.contains("$1") ? ["1"] : []
        let plan = try world().connection.query("EXPLAIN \(sql)", binds: binds).rows.map { $0[0] ?? "" }
        #expect(plan.contains { $0.contains("Scan") && $0.contains(" \(index)") }, "\(plan)")
        #expect(plan.contains { $0.contains("Index Cond") && $0.contains("at < (statement_timestamp()") }, "\(plan)")
    }

    @Test func whatIsOverIsForgottenHoweverMuchItIs() throws {
        let world = try world()
        let many = 2 * Forgetting.limit + 1
        try world.connection.execute(
            """
            INSERT INTO fanfare.event_keys (type, key, event_id, created_at)
            SELECT 'e', g, g, now() - interval '8 days' FROM generate_series(1, \(many)) AS g;
            INSERT INTO fanfare.cancels (event_id, created_at)
            SELECT g, now() - interval '32 days' FROM generate_series(1, \(many)) AS g;
            INSERT INTO fanfare.collapse_latest (key, event_id, created_at)
            SELECT g, g, now() - interval '32 days' FROM generate_series(1, \(many)) AS g;
            INSERT INTO fanfare.event_keys VALUES ('kept', '0', 0, now() - interval '6 days');
            INSERT INTO fanfare.cancels (event_id, created_at) VALUES (0, now() - interval '30 days');
            INSERT INTO fanfare.collapse_latest VALUES (0, 0, now() - interval '30 days');
            """
        )
        try tidyUp(world)
        #expect(try world.connection.column("SELECT type FROM fanfare.event_keys") == ["kept"])
        #expect(try world.connection.column("SELECT event_id FROM fanfare.cancels") == ["0"])
        #expect(try world.connection.column("SELECT key FROM fanfare.collapse_latest") == ["0"])
    }

    @Test func aCancellationIsKeptForAsLongAsTheKeyThatItFreed() throws {
        let world = try world()
        try world.connection.execute(
            """
            INSERT INTO fanfare.cancels (event_id, created_at)
            SELECT g, now() - g * interval '1 day' FROM unnest('{40, 80}'::int[]) AS g
            """
        )
        #expect(try world.connection.runReturningCount(SQL.forgetCancels(60 * 24 * 3600)) == 1)
        #expect(try world.connection.column("SELECT event_id FROM fanfare.cancels") == ["40"])
    }

    @Test func aChoreThatFailsStopsNoOther() throws {
        let world = try world()
        try log(daysAgo: 31, in: world)
        try world.connection.execute(
            """
            ALTER TABLE fanfare.event_keys RENAME TO elsewhere;
            ALTER TABLE fanfare.stats_pending RENAME TO elsewhere_too;
            INSERT INTO fanfare.collapse_latest VALUES (1, 1, now() - interval '32 days');
            """
        )
        let error = #expect(throws: PostgresError.self) { try tidyUp(world) }
        #expect(error?.statement == EndBatches.name, "the first is told")
        #expect(try left(in: world) == [])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.collapse_latest") == 0)
    }
}
