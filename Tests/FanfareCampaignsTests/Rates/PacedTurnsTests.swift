import FanfareCore
import Testing

@testable import DaemonKit
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The times at which paced queues are queried.
struct PacedTurnsTests {
    private let paces = (1...3).map { Pace(gate: $0, lane: .bulk, rates: []) }

    private func numbers(_ paces: [Pace]) -> [Int32] { paces.map(\.gate) }

    @Test func itIsAskedNotTooOftenAndOfWhatIsNotKnown() {
        var turns = PacedTurns()
        #expect(turns.toAsk(of: paces, at: 0) == paces)
        turns.asked([paces[1]: -5, paces[2]: 400_000], at: 0)
        #expect(turns.due(at: 0) == [paces[1]])
        turns.looked(paces[1], gave: true, wait: 250_000, at: 0)
        #expect(turns.wait(at: 0) == 250_000)
        #expect(turns.toAsk(of: paces, at: 50_000).isEmpty && turns.wait(at: 50_000) == 50_000)
        #expect(turns.toAsk(of: paces, at: 100_000) == [paces[0], paces[2]])
        turns.asked([paces[2]: 300_000], at: 100_000)
        #expect(turns.due(at: 249_999).isEmpty && turns.wait(at: 249_999) == 1)
        #expect(turns.due(at: 250_000) == [paces[1]])
        turns.looked(paces[1], gave: false, wait: nil, at: 250_000)
        #expect(turns.wait(at: 250_000) == 150_000, "when the third's is due")
    }

    @Test func nothingIsWaitedForWhereNothingIsKnown() {
        var turns = PacedTurns()
        #expect(turns.wait(at: 0) == nil)
        _ = turns.toAsk(of: paces, at: 0)
        turns.asked([:], at: 0)
        #expect(turns.wait(at: 0) == nil)
        // Another claim rang the bell: new batches are found when the queue may be queried again.
        _ = turns.toAsk(of: paces, at: 1000)
        #expect(turns.wait(at: 1000) == 99_000)
    }

    @Test func theyGoRound() {
        var turns = PacedTurns()
        _ = turns.toAsk(of: paces, at: 0)
        turns.asked(Dictionary(uniqueKeysWithValues: paces.map { ($0, 0) }), at: 0)
        #expect(numbers(turns.due(at: 0)) == [1, 2, 3])
        turns.looked(paces[0], gave: true, wait: 0, at: 0)
        #expect(numbers(turns.due(at: 0)) == [2, 3, 1])
        turns.looked(paces[1], gave: false, wait: 0, at: 0)
        #expect(numbers(turns.due(at: 0)) == [2, 3, 1], "who got nothing is still the next")
        turns.looked(paces[2], gave: true, wait: 5_000_000, at: 0)
        #expect(numbers(turns.due(at: 0)) == [1, 2])
        #expect(numbers(turns.due(at: 1_000_000)) == [1, 2, 3], "its rate may be another by then")
        turns.hadNoRoom(paces[0], at: 0)
        #expect(numbers(turns.due(at: 0)) == [2])
        turns.refunded(paces[0], at: 0)
        #expect(numbers(turns.due(at: 0)) == [1, 2])
        turns.forget()
        #expect(turns.toAsk(of: paces, at: 1).count == 3 && turns.wait(at: 1) == nil)
    }

    /// Otherwise the queue of an app whose credentials were removed would be queried for ever.
    @Test func whatIsNoLongerThereIsForgotten() {
        var turns = PacedTurns()
        _ = turns.toAsk(of: paces, at: 0)
        turns.asked([paces[0]: 0], at: 0)
        _ = turns.toAsk(of: paces.suffix(2), at: 10)
        #expect(turns.due(at: 10).isEmpty && turns.wait(at: 10) == 99_990)
    }

    @Test func whatIsUrgentGoesFirstAndLeavesTheRestATwentieth() {
        let normal = (4...5).map { Pace(gate: $0, lane: .normal, rates: [7]) }
        var turns = PacedTurns()
        _ = turns.toAsk(of: paces + normal, at: 0)
        turns.asked(Dictionary(uniqueKeysWithValues: (paces + normal).map { ($0, 0) }), at: 0)
        #expect(numbers(turns.due(at: 0)) == [4, 5, 1, 2, 3])
        var firsts: [Lane] = []
        for _ in 0..<60 {
            guard let first = turns.due(at: 0).first else { break }
            firsts.append(first.lane)
            turns.looked(first, gave: true, wait: 0, at: 0)
        }
        #expect(firsts.count { $0 == .bulk } == 3 && firsts.firstIndex(of: .bulk) == 19)
    }
}
