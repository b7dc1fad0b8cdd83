import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Claims under a rate.
@Suite(.database)
struct RateClaimTests {
    let world: World

    init() throws {
        world = try World(settings: StageSettings(batchSize: 10))
    }

    /// Several claimers on a simulated clock, each a little late.
    ///
    /// Any period of one second has at most 1.2 times the rate, and none of the rate is lost.
    @Test(arguments: [50, 500, 5000, 20_000])
    func threeClaimersShareOneRateExactly(perSecond: Int) throws {
        let seconds = 12
        let size = min(perSecond / 10, 1000)
        let gate = try world.pace(batches: 11 * seconds * perSecond / 10 / size, of: size, perSecond: perSecond)
        var generator = SeededGenerator(seed: 7)
        var claims: [(at: Double, deliveries: Int)] = []
        var now = 60.0
        while now < 60 + Double(seconds) {
            let claim = try world.claim(paced: gate, at: now, owner: .random(in: 1...3, using: &generator))
            claims.append((now, claim.sizes.reduce(0, +)))
            let wait = try #require(claim.wait)
            now += max(wait, 0.001) + .random(in: 0...0.09, using: &generator)
        }
        let total = claims.reduce(0) { $0 + $1.deliveries }
        #expect(abs(Double(total) / Double(seconds * perSecond) - 1) < 0.05)
        for (at, _) in claims {
            let second = claims.filter { $0.at >= at && $0.at < at + 1 }.reduce(0) { $0 + $1.deliveries }
            #expect(Double(second) <= 1.2 * Double(perSecond), "in the second from \(at)")
        }
    }

    /// With fewer than ten per second, deliveries are claimed one by one.
    @Test(arguments: [1, 3, 9])
    func whatIsSlowDoesNotComeInBursts(perSecond: Int) throws {
        let gate = try world.pace(batches: 60, of: 1, perSecond: perSecond)
        var times: [Double] = []
        var now = 60.0
        while times.count < 20 {
            let claim = try world.claim(paced: gate, at: now)
            times += claim.sizes.map { _ in now }
            now += max(try #require(claim.wait), 0.000_001)
        }
        let gaps = zip(times.dropFirst(), times).map { $0 - $1 }
        #expect(gaps.dropFirst().allSatisfy { abs($0 * Double(perSecond) - 1) < 0.01 }, "\(gaps)")
    }

    /// From 50 to 500 per second in 10 s: after each claim, the total is the integral of the rate, less one portion.
    @Test func aRampGrowsEvenly() throws {
        let gate = try world.pace(batches: 1200, of: 5, perSecond: 500)
        try world.connection.execute(
            """
            UPDATE fanfare.rates SET ramp_from = 50, ramp_seconds = 10, ramp_began_at = '2026-01-01 00:01+00',
                next_free = '2026-01-01 00:01+00'
            """
        )
        var generator = SeededGenerator(seed: 7)
        var claimed = 0
        var now = 60.0
        while now < 75 {
            let claim = try world.claim(paced: gate, at: now, owner: .random(in: 1...3, using: &generator))
            claimed += claim.sizes.reduce(0, +)
            let elapsed = now - 60
            let grown = min(elapsed, 10)
            let ideal = 50 * grown + 22.5 * grown * grown + 500 * (elapsed - grown)
            // What becomes free between two claims counts with the rate at the later one.
            #expect(Double(claimed) < 1.02 * ideal + 10 && Double(claimed) > 0.98 * ideal - 60, "after \(elapsed) s")
            now += max(try #require(claim.wait), 0.001) + .random(in: 0...0.05, using: &generator)
        }
        try world.connection.execute("UPDATE fanfare.rates SET ramp_began_at = NULL, next_free = '2026-01-01 00:02+00'")
        #expect(try world.claim(paced: gate, at: 180).sizes == [5, 5], "what has not begun is where it begins")
        try world.connection.execute("UPDATE fanfare.rates SET next_free = clock_timestamp()")
        _ = try world.connection.runReturningCount(RefundRate(gate: gate, deliveries: 50))
        let owed = "SELECT round(extract(epoch FROM clock_timestamp() - next_free)) FROM fanfare.rates"
        #expect(try world.connection.number(owed) == 1)
    }

    @Test func theNextLookIsWhenTheNextPortionCanGo() throws {
        let gate = try world.pace(batches: 20, of: 5, perSecond: 100)
        #expect(try world.claim(paced: gate, at: 60).sizes == [5, 5, 5, 5], "a fifth of a second counts")
        let early = try world.claim(paced: gate, at: 60)
        #expect(early.sizes.isEmpty && early.wait == 0.1, "nothing is free, and nobody looked for the size")
        let soon = try world.claim(paced: gate, at: 60.02)
        #expect(soon.sizes.isEmpty && abs((soon.wait ?? 0) - 0.08) < 0.001, "not for one small batch")
        #expect(try world.claim(paced: gate, at: 60.1).sizes == [5, 5])
        #expect(try world.claim(paced: gate, at: 99).sizes.count == 4, "no more counts, however long it was idle")
        try world.connection.execute(
            "DELETE FROM fanfare.batches WHERE owner IS NULL AND id < (SELECT max(id) FROM fanfare.batches)"
        )
        let last = try world.claim(paced: gate, at: 99.01)
        #expect(last.sizes.isEmpty && abs((last.wait ?? 0) - 0.04) < 0.001, "there is no more than that")
        try world.connection.execute("DELETE FROM fanfare.batches WHERE owner IS NULL")
        let none = try world.claim(paced: gate, at: 120)
        #expect(none.sizes.isEmpty && none.wait == nil)
    }

    @Test func aLargeBatchGoesAndLeavesADebt() throws {
        let gate = try world.pace(30, perSecond: 1)
        let first = try world.claim(paced: gate, at: 60)
        #expect(first.sizes == [10])
        #expect(abs((first.wait ?? 0) - 9.9) < 0.001, "a fifth of a second was free, and a tenth is needed")
        #expect(try world.claim(paced: gate, at: 69.8).sizes.isEmpty)
        #expect(try world.claim(paced: gate, at: 69.91).sizes == [10])
    }

    @Test func aClockThatWasPutBackStopsNothing() throws {
        let gate = try world.pace(30, perSecond: 200)
        #expect(try world.claim(paced: gate, at: 7200).sizes.count == 3)
        try world.connection.execute("UPDATE fanfare.batches SET owner = NULL, lease_token = NULL")
        let again = try world.claim(paced: gate, at: 60)
        #expect(again.sizes.isEmpty && again.wait == 0.1)
        try world.connection.execute("UPDATE fanfare.rates SET next_free = '2026-01-01 00:00+00'")
        #expect(try world.claim(paced: gate, at: 60).sizes.count == 3)
    }

    @Test func retriesGoFirstAndAreCharged() throws {
        let gate = try world.pace(60, perSecond: 100)
        try world.connection.execute(
            """
            UPDATE fanfare.batches SET is_retry = true, not_before = '2025-12-31'
            WHERE id = (SELECT max(id) FROM fanfare.batches)
            """
        )
        #expect(try world.claim(paced: gate, at: 60).sizes == [10, 10])
        #expect(try world.connection.number("SELECT count(*) FROM fanfare.batches WHERE is_retry AND owner = 1") == 1)
        #expect(try world.claim(paced: gate, at: 60.09).sizes.isEmpty)
    }

    @Test func whatIsGivenBackCanBeTakenAgain() throws {
        let gate = try world.pace(200, perSecond: 200)
        #expect(try world.claim(paced: gate, at: 60).sizes.count == 4)
        #expect(try world.connection.runReturningCount(RefundRate(gate: gate, deliveries: 30)) == 1)
        #expect(try world.claim(paced: gate, at: 60).sizes.count == 3)
        #expect(try world.claim(paced: gate, at: 60).sizes.isEmpty)
    }

    @Test func whatIsPausedUsesUpNothing() throws {
        let gate = try world.pace(100, perSecond: 200)
        try world.setGates("paced", "pause")
        let none = try world.claim(paced: gate, at: 60)
        #expect(none.sizes.isEmpty && none.wait == nil)
        try world.setGates("paced", "resume")
        #expect(try world.claim(paced: gate, at: 60).sizes.count == 4)
    }

    /// Claims without a rate use none of it, and find all their batches in the same lane at the same time.
    @Test func whatHasNoRateIsNotHeldUp() throws {
        let gate = try world.pace(100, perSecond: 250)
        try world.rule("free", event: "f", to: #"{"users": "$.u"}"#, #""lane": "bulk""#)
        let event = try world.emit("f", #"{"u": "u"}"#)
        try world.plan()
        #expect(try world.claim(paced: gate, at: 60).sizes.count == 5)
        let others = try world.claim(gates: [gate])
        #expect(others.count == 10 && others.allSatisfy { $0.gate == 0 && $0.eventID == event })
        try world.connection.execute("SELECT fanfare.set_rate(rule_id, NULL) FROM fanfare.gates")
        #expect(try world.claim(paced: gate, at: 61).sizes.isEmpty)
        #expect(try world.claim(gates: [gate]).count == 5, "without its rate the rest goes at once")
    }

    /// With the database's clock and concurrent sessions: a claimer that waited for the lock sees the other's charge.
    @Test func whoWaitsForTheLockSeesTheCharge() throws {
        let gate = try world.pace(1000, perSecond: 250)
        let clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
        let start = try world.connection.number(clock)
        try world.connection.execute("BEGIN")
        #expect(try world.claim(paced: gate).sizes.count == 5)
        let second = claimer(2) { try $0.claim(paced: gate, owner: 2).sizes }
        // In a session of its own, since pg_stat_activity does not change within a transaction.
        try World().connection.waitUntil(
            """
            SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')
            """
        )
        try world.connection.execute("COMMIT")
        let taken = try second().reduce(0, +)
        let elapsed = try Double(world.connection.number(clock) - start) / 1_000_000
        #expect(Double(taken) <= elapsed * 250, "only what came free since")
    }

    @Test func threeSessionsAtOnceKeepToIt() throws {
        let count = 4000
        let gate = try world.pace(count, perSecond: 4000)
        let start = ContinuousClock.now
        let sessions = (Int32(1)...3).map { owner in
            claimer(owner) { world in
                var sizes: [Int] = []
                let left = "SELECT EXISTS (SELECT FROM fanfare.batches WHERE owner IS NULL)"
                while try world.connection.text(left) == "t" {
                    sizes += try world.claim(paced: gate, owner: owner).sizes
                }
                return sizes
            }
        }
        let sizes = try sessions.flatMap { try $0() }
        // A fifth of a second's worth is available at the start.
        #expect(start.duration(to: .now) > .milliseconds(790))
        #expect(sizes.reduce(0, +) == count && sizes.count == count / 10, "each batch once")
    }

    /// Starts a claim in a session on its own thread.
    ///
    /// - Returns: a function that waits for it and returns the number claimed.
    private func claimer(
        _ owner: Int32,
        _ body: @escaping @Sendable (World) throws -> [Int]
    ) -> () throws -> [Int] {
        let database = TestDatabase.current
        let sizes = Locked<Result<[Int], any Error>>(.success([]))
        let thread = WorkerThread.start(name: "claimer-\(owner)") {
            let outcome = Result {
                let world = try World(database)
                // Long timeouts, because the machine may be busy.
                try world.connection.execute("SET lock_timeout = '1min'; SET statement_timeout = '1min'")
                return try body(world)
            }
            sizes.withLock { $0 = outcome }
        }
        return {
            thread.join()
            return try sizes.withLock { $0 }.get()
        }
    }
}
