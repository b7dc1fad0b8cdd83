import FanfareCore
import Testing

@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// When is looked behind gates that have a rate.
struct PacedTurnsTests {
    private let gates = [1, 2, 3].map { Gate(id: $0, app: "shop", lane: nil, isPaced: true) }

    @Test func itIsAskedNotTooOftenAndOfWhatIsNotKnown() {
        var turns = PacedTurns()
        #expect(turns.toAsk(of: gates, at: 0).map(\.id) == [1, 2, 3])
        turns.asked([.init(gate: 2, wait: -5), .init(gate: 3, wait: 400_000)], at: 0)
        #expect(turns.due(of: gates, at: 0).map(\.id) == [2])
        turns.looked(2, gave: true, wait: 250_000, at: 0)
        #expect(turns.wait(at: 0) == 250_000)
        #expect(turns.toAsk(of: gates, at: 50_000).isEmpty && turns.wait(at: 50_000) == 50_000)
        #expect(turns.toAsk(of: gates, at: 100_000).map(\.id) == [1, 3])
        turns.asked([.init(gate: 3, wait: 300_000)], at: 100_000)
        #expect(turns.due(of: gates, at: 249_999).isEmpty && turns.wait(at: 249_999) == 1)
        #expect(turns.due(of: gates, at: 250_000).map(\.id) == [2])
        turns.looked(2, gave: false, wait: nil, at: 250_000)
        #expect(turns.wait(at: 250_000) == 150_000, "when the third's is due")
    }

    @Test func nothingIsWaitedForWhereNothingIsKnown() {
        var turns = PacedTurns()
        #expect(turns.wait(at: 0) == nil)
        _ = turns.toAsk(of: gates, at: 0)
        turns.asked([], at: 0)
        #expect(turns.wait(at: 0) == nil)
        // A claim of something else rang: what is new is seen when it may be asked again.
        _ = turns.toAsk(of: gates, at: 1000)
        #expect(turns.wait(at: 1000) == 99_000)
    }

    @Test func theyGoRound() {
        var turns = PacedTurns()
        _ = turns.toAsk(of: gates, at: 0)
        turns.asked(gates.map { .init(gate: $0.id, wait: 0) }, at: 0)
        #expect(turns.due(of: gates, at: 0).map(\.id) == [1, 2, 3])
        turns.looked(1, gave: true, wait: 0, at: 0)
        #expect(turns.due(of: gates, at: 0).map(\.id) == [2, 3, 1])
        turns.looked(2, gave: false, wait: 0, at: 0)
        #expect(turns.due(of: gates, at: 0).map(\.id) == [2, 3, 1], "who got nothing is still the next")
        turns.looked(3, gave: true, wait: 5_000_000, at: 0)
        #expect(turns.due(of: gates, at: 0).map(\.id) == [1, 2])
        #expect(turns.due(of: gates, at: 1_000_000).map(\.id) == [1, 2, 3], "its rate may be another by then")
        turns.hadNoRoom(1, at: 0)
        #expect(turns.due(of: gates, at: 0).map(\.id) == [2])
        turns.refunded(1, at: 0)
        #expect(turns.due(of: gates, at: 0).map(\.id) == [1, 2])
        turns.forget()
        #expect(turns.toAsk(of: gates, at: 1).count == 3 && turns.wait(at: 1) == nil)
    }
}
