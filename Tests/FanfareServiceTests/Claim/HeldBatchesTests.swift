import FanfareCore
import PostgresClient
import TestKit
import Testing
import Threading

@testable import DaemonKit
@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// Prepared batches that wait for the in-flight budget before they are marked as attempted.
@Suite(.database)
struct HeldBatchesTests {
    let world: World

    init() throws {
        world = try World()
    }

    /// Returns prepared batches of two devices each, for each of some lanes.
    private func held(_ lanes: [String], each count: Int) throws -> HeldBatches {
        for lane in lanes {
            let options = #""lane": "\#(lane)", "delivery": "at_most_once""#
            try world.rule(lane, event: lane, to: #"{"users": "$.u"}"#, options)
        }
        for user in 0..<count {
            for n in 0..<2 { try world.device("aa\(10 + user * 2 + n)", user: "\(user)") }
            for lane in lanes {
                // Planned one by one, so that each event gets a batch of its own.
                try world.emit(lane, #"{"u": "\#(user)"}"#)
                try world.plan()
            }
        }
        var held = HeldBatches()
        for prepared in try world.prepare(try world.claim()) {
            held.append(.init(prepared: prepared, roster: .empty))
        }
        return held
    }

    /// Takes all batches that fit into the budget.
    private func drain(_ held: inout HeldBatches, _ windows: InFlightBudget) -> [(batch: PreparedBatch, window: Int)] {
        var taken: [(PreparedBatch, Int)] = []
        while let (next, window) = held.next(in: windows) {
            held.remove(next)
            taken.append((next.prepared.batch, window))
        }
        return taken
    }

    @Test func noMoreThanTheLanesShareOfWIsTakenUntilSomeIsGivenBack() throws {
        var held = try held(["normal"], each: 6)
        let windows = InFlightBudget(capacity: 8)
        // The normal lane may use three quarters of the in-flight budget.
        let first = drain(&held, windows)
        #expect(first.map(\.window) == [2, 2, 2] && held.all.count == 3)
        let queue = first[0].batch.claimed
        #expect(held.contains(queue.target, queue.queue))
        windows.release([first[0].batch.share: 2])
        #expect(drain(&held, windows).count == 1)
        windows.release([first[0].batch.share: 6])
        #expect(drain(&held, windows).count == 2 && held.isEmpty)
    }

    @Test func theMoreUrgentGoFirst() throws {
        var held = try held(["bulk", "transactional"], each: 2)
        let taken = drain(&held, InFlightBudget(capacity: 100))
        #expect(taken.map(\.batch.lane) == [.transactional, .transactional, .bulk, .bulk])
        #expect(taken[0].batch.claimed.id < taken[1].batch.claimed.id)
    }

    @Test func aBatchLargerThanWGoesAlone() throws {
        var held = try held(["normal"], each: 3)
        let windows = InFlightBudget(capacity: 1)
        let first = drain(&held, windows)
        #expect(first.map(\.window) == [1] && held.all.count == 2)
        windows.release([first[0].batch.share: 1])
        #expect(drain(&held, windows).count == 1)
    }

    @Test func whoWaitsForRoomIsWokenOnceHoweverOftenItLooked() {
        let windows = InFlightBudget(capacity: 8)
        let share = BudgetShare(key: ProviderKey(app: "shop", provider: "apns"), lane: .normal)
        let woken = Locked<[String]>([])
        for _ in 0..<3 {
            for waiter in ["claimer", "sender"] {
                windows.whenReleased(for: waiter) { woken.withLock { $0.append(waiter) } }
            }
        }
        #expect(windows.acquireWhole(2, for: share) == 2)
        windows.release([share: 1])
        #expect(woken.withLock { $0.sorted() } == ["claimer", "sender"])
        windows.release([share: 1])
        #expect(woken.withLock { $0.count } == 2, "who waits on asks again")
    }
}
