import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareCampaigns
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Several daemons that collect and emit digests, while sessions are terminated.
@Suite(.database)
struct DigestFaultTests {
    private static let users = 50

    @Test(.timeLimit(.minutes(5)), arguments: Soak.seeds(1, soak: 20))
    func eachEventIsInExactlyOneDigest(_ seed: UInt64) async throws {
        let database = TestDatabase.current
        let rounds = Soak.choose(20, soak: 60)
        try await onThread {
            let world = try World(database)
            // One digest is due while the next one is open under its key.
            try world.rule(
                "news",
                event: "e",
                to: #"{"users": "$.u"}"#,
                #""digest": {"every": "1s", "by": "{{u}}"}"#
            )
            let daemons = try (1...2).map { owner in Daemon(try World(database), owner: Int32(owner)) }
            var generator = SeededGenerator(seed: seed)
            var terminated: Int64 = 0
            for round in 0..<rounds {
                _ = try world.connection.query(
                    """
                    SELECT count(fanfare.emit('e', jsonb_build_object('u', (n % \(Self.users))::text, 'n', n)))
                    FROM generate_series($1::int * 100 + 1, $1::int * 100 + 100) AS n
                    """,
                    String(round)
                )
                try world.connection.execute("SELECT pg_sleep(\(Double.random(in: 0.05...0.3, using: &generator)))")
                terminated += try world.connection.number(
                    """
                    SELECT count(pg_terminate_backend(pid)) FROM (
                        SELECT pid FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name ~ '^fanfare (planner|scheduler)$'
                        ORDER BY md5(pid || $1) LIMIT 1) AS victim
                    """,
                    String(round)
                )
            }
            for table in ["outbox", "quarantine", "open_digests", "outbox"] {
                try world.connection.waitUntil("SELECT NOT EXISTS (SELECT FROM fanfare.\(table))", seconds: 180)
            }
            for daemon in daemons { daemon.stop() }
            #expect(terminated > 0)
            try Self.check(world, events: rounds * 100)
        }
    }

    private static func check(_ world: World, events: Int) throws {
        let numbers = try world.connection.column(
            """
            SELECT (e ->> 'n')::int FROM fanfare.events, jsonb_array_elements(payload -> 'events') AS e
            WHERE type = 'digest.shop.news' ORDER BY 1
            """
        )
        #expect(numbers == (1...events).map(String.init))
        let counted = "SELECT sum((payload ->> 'count')::int) FROM fanfare.events WHERE type = 'digest.shop.news'"
        #expect(try world.connection.number(counted) == Int64(events))
        #expect(try world.connection.column("SELECT DISTINCT fate FROM fanfare.events") == ["planned"])
        #expect(try world.digests("news", "id").count < events, "some were sent together")
    }
}

/// The digest stages of a daemon, on threads of their own.
private final class Daemon {
    private let stages: [any Stage]
    private let threads: [WorkerThread]

    init(_ world: World, owner: Int32) {
        world.context.lease.begin(owner: owner, startedAt: Clocks.steady, databaseNow: Clocks.wall)
        let stages: [any Stage] = [world.planner(), world.scheduler()]
        self.stages = stages
        threads = stages.map { stage in WorkerThread.start(name: stage.name) { stage.run() } }
    }

    func stop() {
        for stage in stages { stage.stop() }
        for thread in threads { thread.join() }
    }
}
