import FanfareCore
import PostgresClient
import Testing

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

struct ClaimFloorsTests {
    private let now = 1000 * Micros.second

    private func batch(_ target: Int16, _ queue: SendQueue, gate: Int32 = 0, notBefore: Microseconds) -> ClaimedBatch {
        ClaimedBatch(
            id: 1,
            leaseToken: 1,
            target: target,
            queue: queue,
            gate: gate,
            ruleVersion: 1,
            attempt: queue.isRetry ? 2 : 1,
            history: .none,
            eventID: 1,
            eventIDs: [],
            deviceIDs: [1],
            outcomes: [],
            notBefore: Timestamp(microseconds: notBefore),
            dueAt: nil,
            claimedAt: .minusInfinity
        )
    }

    @Test func whereNothingWasSeenAllIsLookedFor() {
        let floors = ClaimFloors()
        for queue in SendQueue.allCases {
            #expect(floors.floor(target: 1, queue, now: now) == .minusInfinity)
        }
    }

    @Test func theFloorLiesBelowTheLatestThatWasSeen() {
        let queue = SendQueue(lane: .normal, isRetry: false)
        var floors = ClaimFloors()
        for seconds: Int64 in [900, 950, 920] {
            floors.saw(batch(1, queue, notBefore: seconds * Micros.second))
        }
        #expect(floors.floor(target: 1, queue, now: now) == Timestamp(microseconds: 945 * Micros.second))
    }

    /// Other batches that are due at the same time may not be committed yet.
    @Test func theFloorStaysBehindTheClock() {
        let queue = SendQueue(lane: .normal, isRetry: false)
        var floors = ClaimFloors()
        floors.saw(batch(1, queue, notBefore: now - 1))
        #expect(floors.floor(target: 1, queue, now: now) == Timestamp(microseconds: 990 * Micros.second))
    }

    @Test func eachQueueOfEachTargetHasAFloorOfItsOwnBehindEachGate() {
        let queue = SendQueue(lane: .normal, isRetry: false)
        let retries = SendQueue(lane: .normal, isRetry: true)
        let urgent = SendQueue(lane: .transactional, isRetry: false)
        var floors = ClaimFloors()
        floors.saw(batch(1, queue, notBefore: 900 * Micros.second))
        #expect(floors.floor(target: 1, retries, now: now) == .minusInfinity)
        #expect(floors.floor(target: 1, urgent, now: now) == .minusInfinity)
        #expect(floors.floor(target: 2, queue, now: now) == .minusInfinity)
        #expect(floors.floor(gate: 3, target: 1, queue, now: now) == .minusInfinity)
        floors.saw(batch(1, queue, gate: 3, notBefore: 800 * Micros.second))
        #expect(floors.floor(gate: 3, target: 1, queue, now: now) == Timestamp(microseconds: 795 * Micros.second))
        #expect(floors.floor(target: 1, queue, now: now) == Timestamp(microseconds: 895 * Micros.second))
    }

    @Test func aSweepLooksFromTheBeginningAndIsNotDueAgainForAWhile() {
        let queue = SendQueue(lane: .normal, isRetry: false)
        let interval = 5 * Micros.second
        var floors = ClaimFloors()
        #expect(floors.isSweepDue(at: now, every: interval), "none was made yet")
        floors.saw(batch(1, queue, notBefore: 900 * Micros.second))
        floors.sweep(at: now)
        #expect(floors.floor(target: 1, queue, now: now) == .minusInfinity)
        #expect(!floors.isSweepDue(at: now + interval - 1, every: interval))
        #expect(floors.isSweepDue(at: now + interval, every: interval))
    }
}
