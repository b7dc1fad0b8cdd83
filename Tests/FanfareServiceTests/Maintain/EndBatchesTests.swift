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

/// Batches that no daemon claims, because none has credentials for their target: they end when their `ttl` has passed.
@Suite(.database)
struct EndBatchesTests {
    let world: World
    let version: Int64
    /// A rule version whose `ttl` is an hour.
    let brief: Int64

    init() throws {
        world = try World()
        for n in 1...4 { try world.device("a\(n)", provider: "fcm") }
        version = try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        brief = try world.rule("brief", event: "e", to: #"{"users": "$.u"}"#, #""ttl": "1h""#)
    }

    /// Queues an event's batch for all devices, both created the given number of days ago.
    ///
    /// - Returns: the id of the event, which is also the batch's.
    @discardableResult
    private func queue(
        daysAgo age: Int,
        ttl: String? = nil,
        version: Int64? = nil,
        outcomes: String = ""
    ) throws -> Int64 {
        try world.connection.number(
            """
            WITH made AS (
                SELECT ((now() AT TIME ZONE 'UTC')::date - DATE '2020-01-01' - $1::int)::bigint << 32
                    | nextval('fanfare.batch_sequence') AS id
            ),
            event AS (
                INSERT INTO fanfare.event_log (day, fate, id, created_at, type, ttl, payload)
                SELECT fanfare.ring_day(id), 1, id, now() - $1::int * interval '1 day', 'e', $2::interval, '{}' FROM made
            )
            INSERT INTO fanfare.batches (id, event_id, rule_version, target_id, lane, device_ids, outcomes)
            SELECT id, id, $3::int, (SELECT min(target_id) FROM fanfare.devices), 1,
                ARRAY(SELECT id FROM fanfare.devices ORDER BY id), decode($4, 'hex')
            FROM made
            RETURNING id
            """,
            "\(age)",
            ttl,
            "\(version ?? self.version)",
            outcomes
        )
    }

    private func tidyUp() throws {
        var chores = world.chores()
        try chores.run(on: world.connection)
    }

    private func waiting() throws -> [Int64] {
        try world.connection.column("SELECT id FROM fanfare.batches ORDER BY id").compactMap { Int64($0) }
    }

    @Test func onlyWhatIsCertainlyTooLateEnds() throws {
        let late = try [
            queue(daysAgo: 2), queue(daysAgo: 5, ttl: "1 h"), queue(daysAgo: 5, ttl: "4 days"),
            queue(daysAgo: 5, ttl: "10 days", version: brief), queue(daysAgo: 33, ttl: "-1 h"),
        ]
        let kept = try [
            queue(daysAgo: 5, ttl: "10 days"), queue(daysAgo: 5, ttl: "280000 years"), queue(daysAgo: 1),
            queue(daysAgo: 0),
        ]
        try tidyUp()
        #expect(try waiting() == kept.sorted())
        for event in late {
            #expect(try world.outcomes(event) == Array(repeating: "expired/ttl_passed", count: 4))
        }
        let counted = "SELECT sum(deliveries) FROM fanfare.stats_pending WHERE outcome = \(Outcome.expired.rawValue)"
        #expect(try world.connection.number(counted) == 20)
        #expect(world.counters.snapshot.batchesClosed == 5)
    }

    @Test func oneEventThatMayStillBeSentKeepsItsBatch() throws {
        let live = try queue(daysAgo: 5, ttl: "10 days")
        let late = try queue(daysAgo: 5)
        try world.connection.execute(
            """
            DELETE FROM fanfare.batches WHERE id = \(live);
            UPDATE fanfare.batches SET event_id = NULL, event_ids = ARRAY[\(late), \(late), \(live), \(late)]
            """
        )
        try tidyUp()
        #expect(try waiting() == [late])
        try world.connection.execute("UPDATE fanfare.event_log SET ttl = NULL")
        try tidyUp()
        #expect(try waiting() == [])
        #expect(try world.outcomes(live) == ["expired/ttl_passed"])
    }

    @Test func whatWasRecordedStays() throws {
        // Accepted, perhaps sent, to be retried, not attempted.
        let event = try queue(daysAgo: 2, outcomes: "01022300")
        try tidyUp()
        #expect(
            try world.outcomes(event) == [
                "accepted/accepted", "unknown/answer_lost", "expired/ttl_passed", "expired/ttl_passed",
            ]
        )
    }

    @Test func whatSomebodyHasOrIsClaimingIsLeft() throws {
        let owned = try queue(daysAgo: 3)
        try world.connection.execute("UPDATE fanfare.batches SET owner = 1, lease_token = 1")
        let claimed = try queue(daysAgo: 2)
        let claimer = try TestDatabase.current.connect()
        try claimer.execute("BEGIN; SELECT FROM fanfare.batches WHERE id = \(claimed) FOR UPDATE")
        try tidyUp()
        #expect(try waiting() == [owned, claimed])
        try claimer.execute("COMMIT")
        try tidyUp()
        #expect(try waiting() == [owned])
    }

    @Test func theirDayIsOverThen() throws {
        try queue(daysAgo: 31)
        // The first run ends the batch; the second finds that the logs are no longer needed.
        for _ in 0..<2 { try tidyUp() }
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.event_log") == 0)
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batch_log") == 0)
    }

    @Test func oneRunEndsManySets() throws {
        for _ in 0..<(2 * EndBatches.limit + 1) { try queue(daysAgo: 2) }
        try tidyUp()
        #expect(try waiting() == [])
        #expect(world.counters.snapshot.batchesClosed == Int64(2 * EndBatches.limit + 1))
    }
}
