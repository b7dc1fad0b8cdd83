import FanfareCore
import PostgresClient
import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

struct BatchQueueTests {
    private func batch(_ id: Int64, lane: Int16, deliveries: Int = 1) -> ClaimedBatch {
        ClaimedBatch(
            id: id,
            leaseToken: 1,
            target: 1,
            queue: SendQueue(lane: Lane(rawValue: lane)!, isRetry: false),
            gate: 0,
            ruleVersion: 1,
            attempt: 1,
            history: .none,
            eventID: 1,
            eventIDs: [],
            deviceIDs: Array(repeating: 1, count: deliveries),
            outcomes: [],
            notBefore: .minusInfinity,
            dueAt: nil,
            claimedAt: .minusInfinity
        )
    }

    private func groups(of queue: BatchQueue, deliveries: Int) -> [[Int64]] {
        var queue = queue
        var groups: [[Int64]] = []
        while let group = queue.next(deliveries: deliveries) { groups.append(group.map(\.id)) }
        return groups
    }

    @Test func theMostUrgentLaneComesFirstAndTheOldestOfIt() {
        let queue = BatchQueue([batch(1, lane: 2), batch(3, lane: 0), batch(2, lane: 0), batch(4, lane: 1)])
        #expect(queue.lane == 0)
        #expect(groups(of: queue, deliveries: 1) == [[2], [3], [4], [1]])
    }

    @Test func smallBatchesOfOneLaneAreReadTogether() {
        let queue = BatchQueue([batch(1, lane: 0, deliveries: 6), batch(2, lane: 0, deliveries: 4), batch(3, lane: 1)])
        #expect(groups(of: queue, deliveries: 10) == [[1, 2], [3]])
        #expect(groups(of: queue, deliveries: 9) == [[1], [2], [3]])
    }

    @Test func aBatchLargerThanAFullOneGoesAlone() {
        let queue = BatchQueue([batch(1, lane: 0, deliveries: 20), batch(2, lane: 0)])
        #expect(groups(of: queue, deliveries: 10) == [[1], [2]])
    }
}
