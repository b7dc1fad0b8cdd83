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

@Suite(.database)
struct ClaimTests {
    /// Creates a world with `count` batches of one delivery each.
    private func world(batches count: Int) throws -> World {
        let world = try World(settings: StageSettings(batchSize: 1))
        for n in 0..<count { try world.device("aa\(10 + n)", user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        return world
    }

    private func claim(
        _ world: World,
        _ queue: SendQueue = SendQueue(lane: .normal, isRetry: false),
        count: Int32 = 100,
        floor: Timestamp = .minusInfinity
    ) throws
        -> [ClaimedBatch]
    {
        let target = try world.connection.run(SQL.allTargets()).first { $0.environment == "production" }!
        let request = BatchRequest(target: target.id, queue: queue, count: count, floor: floor)
        return try world.connection.run(ClaimBatches(requests: [request], owner: 1, leaseToken: 9))
    }

    @Test func oldestFirstAndNoMoreThanAsked() throws {
        let world = try world(batches: 5)
        let ids = try world.connection.column("SELECT id FROM fanfare.batches ORDER BY not_before, id").compactMap {
            Int64($0)
        }
        #expect(try Set(claim(world, count: 2).map(\.id)) == Set(ids.prefix(2)))
        #expect(try Set(claim(world).map(\.id)) == Set(ids.dropFirst(2)))
        #expect(try claim(world).isEmpty, "what is owned is nobody's to claim")
    }

    @Test func onlyWhatIsDueAndOfTheLane() throws {
        let world = try world(batches: 2)
        #expect(try claim(world, SendQueue(lane: .transactional, isRetry: false)).isEmpty)
        #expect(try claim(world, SendQueue(lane: .bulk, isRetry: false)).isEmpty)
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now() + interval '1 hour'")
        #expect(try claim(world).isEmpty)
        let places = try world.connection.run(SQL.allTargets()).map {
            BatchPlace(gate: 0, target: $0.id, lane: .normal)
        }
        let next = try #require(try world.connection.run(NextDue(places: places)).first)
        let due = try #require(next.due)
        #expect((3500...3700).contains((due.microseconds - next.now.microseconds) / 1_000_000))
        try world.connection.execute("UPDATE fanfare.batches SET not_before = now() - interval '1 hour'")
        #expect(try claim(world, floor: next.now).isEmpty, "below the floor nobody looks")
        #expect(try claim(world).count == 2)
    }

    @Test func retriesAreAQueueOfTheirOwn() throws {
        let world = try world(batches: 3)
        let first = try #require(try claim(world, count: 1).first)
        let deliveries = [RetryHistory(attempts: 1), RetryHistory(attempts: 1, marks: .otherEnvironment)].map {
            history in
            RetryBatch(
                parentID: first.id,
                target: first.target,
                history: history,
                delayMicroseconds: 0,
                deviceIDs: first.deviceIDs,
                eventIDs: nil
            )
        }
        let record = BatchRecord(
            id: first.id,
            leaseToken: first.leaseToken,
            outcomes: [Outcome.retryingServerError.rawValue]
        )
        let close = CloseBatches(owner: 1, batches: [record], retries: deliveries, tallies: [])
        #expect(try world.connection.run(close).batches == [first.id])
        let retries = try claim(world, SendQueue(lane: .normal, isRetry: true))
        #expect(retries.map(\.history) == [deliveries[0].history] && retries.map(\.queue.isRetry) == [true])
        let others = try claim(world)
        #expect(others.count == 3 && others.allSatisfy { !$0.queue.isRetry }, "a move waits for no budget")
    }

    @Test func twoSessionsNeverTakeTheSameBatch() throws {
        let world = try world(batches: 6)
        let other = try World()
        try world.connection.execute("BEGIN")
        let mine = try claim(world, count: 2)
        let theirs = try other.claim(owner: 2)
        try world.connection.execute("COMMIT")
        #expect(mine.count == 2)
        #expect(theirs.count == 4)
        #expect(Set(mine.map(\.id)).isDisjoint(with: theirs.map(\.id)))
    }

    @Test func aDeadDaemonsBatchesGoOnBehindTheirCheckpoint() throws {
        let world = try World()
        for n in 0..<3 { try world.device("aa\(10 + n)", user: "u") }
        try world.rule("r", event: "e", to: #"{"users": "$.u"}"#)
        let event = try world.emit("e", #"{"u": "u"}"#)
        try world.plan()
        let first = try #require(try world.claim(owner: 1).first)
        let record = BatchRecord(id: first.id, leaseToken: first.leaseToken, outcomes: [1, 0, 2])
        #expect(try world.connection.run(Checkpoint(owner: 1, batches: [record])).batches == [first.id])
        #expect(try world.connection.run(Rescue(dead: 1)) == [1])
        let again = try world.claim(owner: 2, leaseToken: 5)
        #expect(again.map(\.outcomes) == [[1, 0, 2]])
        let prepared = try #require(try world.prepare(again, owner: 2).first)
        #expect(prepared.batch.deliveries.map(\.position) == [1], "accepted is not sent again")
        #expect(prepared.decided.map(\.outcome) == [.unknown], "what was attempted stays unknown")
        #expect(try world.outcomes(event).first == "accepted/accepted")
    }

    @Test func aClaimThatWasNotAnsweredIsGivenBack() throws {
        let world = try world(batches: 3)
        let first = try claim(world, count: 1)
        _ = try world.claim(owner: 1, leaseToken: 10)
        let claims = [DoubtfulClaim(owner: 1, leaseToken: 10), DoubtfulClaim(owner: 2, leaseToken: 9)]
        #expect(try world.connection.runReturningCount(ReleaseClaims(claims: claims)) == 2)
        #expect(try Set(world.claim(owner: 2).map(\.id)).isDisjoint(with: first.map(\.id)), "another claim's stay")
    }

    @Test func aDoubtfulClaimIsGivenBackForAsLongAsItMayStillBeMade() {
        var doubts = DoubtfulClaims()
        let claim = DoubtfulClaim(owner: 1, leaseToken: 1)
        doubts.began(claim, at: 0)
        #expect(doubts.due(at: 0) == [claim])
        doubts.gaveBack(at: 0)
        #expect(doubts.due(at: Micros.second - 1).isEmpty && doubts.due(at: Micros.second) == [claim])
        doubts.gaveBack(at: Micros.minute)
        #expect(doubts.due(at: Micros.hour).isEmpty)
        doubts.began(claim, at: Micros.hour)
        doubts.answered(claim)
        #expect(doubts.due(at: Micros.hour).isEmpty)
    }

    @Test func aClaimOfADaemonThatWasStruckOffIsFound() throws {
        let world = try world(batches: 1)
        _ = try claim(world)
        let other = OtherInstance(id: 1, leaseUntil: nil)
        #expect(try world.connection.run(OtherInstances(owner: 2)) == [other])
        #expect(try world.connection.run(OtherInstances(owner: 1)).isEmpty, "one's own are not another's")
    }
}
