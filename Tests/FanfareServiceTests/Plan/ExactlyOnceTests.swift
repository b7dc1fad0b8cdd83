import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages

/// Several planners, emitters with transactions of their own, and sessions that are terminated.
@Suite(.database)
struct ExactlyOnceTests {
    private static let topicSize = 2500

    @Test(.timeLimit(.minutes(5)), arguments: Soak.seeds(2, soak: 50))
    func everyCommittedEventIsPlannedOnce(_ seed: UInt64) async throws {
        let database = TestDatabase.current
        try await onThread {
            let world = try World(database)
            try Self.populate(world)
            let planners = try (0..<3).map { _ in try Planners(World(database)) }
            let emitters = (0..<4).map { n in Emitter(database, seed: seed &* 100 &+ UInt64(n)) }
            let terminated = try Self.terminate(seed: seed, rounds: 25, on: world.connection)
            let committed = emitters.map { $0.finish() }
            try world.connection.waitUntil("SELECT NOT EXISTS (SELECT FROM fanfare.outbox)")
            try world.connection.waitUntil("SELECT NOT EXISTS (SELECT FROM fanfare.quarantine)")
            try world.connection.waitUntil("SELECT NOT EXISTS (SELECT FROM fanfare.plans)")
            for planner in planners { planner.stop() }
            #expect(terminated > 0)
            try Self.check(world, committed: committed.flatMap { $0 })
        }
    }

    private static func populate(_ world: World) throws {
        for user in 0..<20 { try world.devices(1 + user % 3, user: "\(user)") }
        try world.rule("users", event: "e", to: #"{"users": "$.u"}"#)
        try world.rule("native", event: "e", to: #"{"fcm_topic": "user-{{u}}"}"#)
        try world.rule("topic", event: "t", to: #"{"topic": "all"}"#)
        let range = try world.devices(topicSize)
        _ = try world.connection.query(
            "SELECT fanfare.subscribe(array_agg(id), 'all') FROM fanfare.devices WHERE id >= $1",
            "\(range.lowerBound)"
        )
    }

    /// Terminates the session of a planner or slicer repeatedly.
    private static func terminate(seed: UInt64, rounds: Int, on connection: PostgresConnection) throws -> Int {
        var generator = SeededGenerator(seed: seed)
        var terminated = 0
        for _ in 0..<rounds {
            try connection.execute("SELECT pg_sleep(\(Double.random(in: 0.02...0.15, using: &generator)))")
            let victims = try connection.column(
                """
                SELECT pid FROM pg_stat_activity
                WHERE datname = current_database() AND application_name ~ '^fanfare (planner|slicer|maintenance)$'
                ORDER BY pid
                """
            )
            guard let victim = victims.randomElement(using: &generator) else { continue }
            terminated += try connection.text("SELECT pg_terminate_backend($1::int)", victim) == "t" ? 1 : 0
        }
        return terminated
    }

    private static func check(_ world: World, committed: [Int64]) throws {
        let connection = world.connection
        #expect(committed.count > 100)
        let logged = try connection.column("SELECT id FROM fanfare.event_log ORDER BY id").compactMap { Int64($0) }
        #expect(logged == committed.sorted())
        let twice = """
            SELECT count(*) FROM (SELECT 1 FROM fanfare.deliveries GROUP BY event_id, rule, device_id HAVING count(*) > 1) AS t
            """
        #expect(try connection.number(twice) == 0)
        // Each planned event has exactly its audiences' deliveries; a native audience has one.
        let wrong = """
            SELECT count(*) FROM fanfare.events AS e
            WHERE e.fate = 'planned' AND (SELECT count(*) FROM fanfare.deliveries AS d WHERE d.event_id = e.id) <>
                CASE e.type WHEN 't' THEN \(topicSize) ELSE 2 + (e.payload ->> 'u')::int % 3 END
            """
        #expect(try connection.number(wrong) == 0)
        #expect(
            try connection.number("SELECT count(*) FROM fanfare.events WHERE fate NOT IN ('planned', 'duplicate')") == 0
        )
        let keys = """
            SELECT count(*) FROM (
                SELECT key FROM fanfare.events WHERE key IS NOT NULL
                GROUP BY key HAVING count(*) FILTER (WHERE fate = 'planned') <> 1) AS k
            """
        #expect(try connection.number(keys) == 0)
    }
}

/// The planning stages of a daemon, on threads of their own.
private final class Planners {
    private let stages: [any Stage]
    private let threads: [WorkerThread]

    init(_ world: World) {
        let stages: [any Stage] = [world.planner(), world.slicer(), world.maintainer()]
        self.stages = stages
        threads = stages.map { stage in WorkerThread.start(name: stage.name) { stage.run() } }
    }

    func stop() {
        for stage in stages { stage.stop() }
        for thread in threads { thread.join() }
    }
}

/// Emits in transactions of random length, some of which it rolls back.
private final class Emitter {
    private let committed = Locked<[Int64]>([])
    private let thread: WorkerThread

    init(_ database: TestDatabase, seed: UInt64) {
        let committed = committed
        thread = WorkerThread.start(name: "emitter") {
            do {
                try Self.run(database, seed: seed, committed)
            } catch {
                Issue.record(error)
            }
        }
    }

    /// Waits until the thread has ended.
    ///
    /// - Returns: the events it committed.
    func finish() -> [Int64] {
        thread.join()
        return committed.withLock { $0 }
    }

    private static func run(_ database: TestDatabase, seed: UInt64, _ committed: Locked<[Int64]>) throws {
        var generator = SeededGenerator(seed: seed)
        let connection = try database.connect()
        for _ in 0..<60 {
            var events: [Int64] = []
            try connection.execute("BEGIN")
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let isBroadcast = Int.random(in: 0..<25, using: &generator) == 0
                let key = Bool.random(using: &generator) ? "\(Int.random(in: 0..<60, using: &generator))" : nil
                events.append(
                    try connection.number(
                        "SELECT fanfare.emit($1, jsonb_build_object('u', $2::int), $3)",
                        isBroadcast ? "t" : "e",
                        "\(Int.random(in: 0..<20, using: &generator))",
                        isBroadcast ? nil : key
                    )
                )
            }
            let pause =
                Int.random(in: 0..<4, using: &generator) == 0 ? Double.random(in: 0...0.2, using: &generator) : 0
            try connection.execute("SELECT pg_sleep(\(pause))")
            let isKept = Int.random(in: 0..<10, using: &generator) > 0
            try connection.execute(isKept ? "COMMIT" : "ROLLBACK")
            if isKept { committed.withLock { [events] in $0 += events } }
        }
    }
}
