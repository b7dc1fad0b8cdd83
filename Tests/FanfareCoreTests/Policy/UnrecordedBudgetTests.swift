import FanfareCore
import Testing

struct UnrecordedBudgetTests {
    @Test func whoIsAloneMayTakeWButForTheNewcomersReserve() {
        var budget = UnrecordedBudget<String>()
        #expect(budget.acquire(10_000, for: "a", lane: .transactional) == 3840)
        #expect(budget.share(of: "a") == 4096 && budget.held == 3840)
        #expect(budget.acquire(10, for: "b", lane: .transactional) == 10)
    }

    @Test func whileAnotherHasWorkHalfIsTheLimit() {
        var budget = UnrecordedBudget<String>()
        budget.setWork(true, for: "b", lane: .bulk)
        #expect(budget.acquire(10_000, for: "a", lane: .transactional) == 2048)
        budget.setWork(false, for: "b", lane: .bulk)
        #expect(budget.acquire(10_000, for: "a", lane: .transactional) == 3840 - 2048)
        budget.setWork(true, for: "b", lane: .normal)
        #expect(budget.acquire(1, for: "a", lane: .transactional) == 0, "beyond half, it takes no more")
        #expect(budget.held(by: "a") == 3840, "and keeps what it has")
    }

    @Test func normalAndBulkLeaveAQuarterFree() {
        var budget = UnrecordedBudget<String>()
        let pooled = budget.acquire(2000, for: "a", lane: .normal) + budget.acquire(9999, for: "a", lane: .bulk)
        #expect(pooled <= 3072 && pooled >= 2800)
        #expect(budget.acquire(9999, for: "a", lane: .transactional) >= 960)
    }

    @Test func aBroadcastOfOneKeyDoesNotStopItsOwnOneOffs() {
        var budget = UnrecordedBudget<String>()
        budget.setWork(true, for: "b", lane: .normal)
        #expect(budget.acquire(9999, for: "a", lane: .bulk) == 1536)
        #expect(budget.acquire(9999, for: "a", lane: .transactional) == 512)
    }

    @Test func bulkWorkKeepsFivePerCentFromTheOtherLanes() {
        var budget = UnrecordedBudget<String>()
        budget.setWork(true, for: "a", lane: .bulk)
        _ = budget.acquire(9999, for: "a", lane: .transactional)
        _ = budget.acquire(9999, for: "a", lane: .normal)
        #expect(budget.acquire(9999, for: "a", lane: .bulk) >= 4096 / 20)
    }

    @Test func silentProviderStopsNobodyElse() {
        var budget = UnrecordedBudget<String>()
        for lane in Lane.allCases { _ = budget.acquire(9999, for: "silent", lane: lane) }
        for lane in Lane.allCases {
            #expect(budget.acquire(20, for: "other", lane: lane) == 20, "\(lane)")
        }
    }

    @Test func thirdKeyProgressesBesideTwoSilentOnes() {
        var budget = UnrecordedBudget<String>()
        for key in ["a", "b"] { budget.setWork(true, for: key, lane: .transactional) }
        for key in ["a", "b"] { _ = budget.acquire(9999, for: key, lane: .transactional) }
        #expect(budget.acquire(100, for: "c", lane: .transactional) == 100)
    }

    @Test(arguments: [1, 2, 3, 7, 20])
    func alsoATinyWLetsEveryLaneProgressByItself(capacity: Int) {
        for lane in Lane.allCases {
            var budget = UnrecordedBudget<String>(capacity: capacity)
            for other in Lane.allCases { budget.setWork(true, for: "a", lane: other) }
            let granted = budget.acquire(9999, for: "a", lane: lane)
            #expect(granted >= 1 && granted <= capacity, "\(lane)")
        }
    }

    @Test func whoHoldsNothingAndWantsNothingIsForgotten() {
        var budget = UnrecordedBudget<Int>()
        for key in 0..<1000 {
            #expect(budget.acquire(1, for: key, lane: .normal) == 1)
            budget.release(1, for: key, lane: .normal)
            budget.setWork(false, for: key, lane: .normal)
        }
        #expect(budget.share(of: 0) == 4096 && budget.held == 0)
    }

    @Test func negativeAndZeroRequestsTakeNothing() {
        var budget = UnrecordedBudget<Int>()
        #expect(budget.acquire(0, for: 1, lane: .bulk) == 0 && budget.acquire(-9, for: 1, lane: .bulk) == 0)
    }

    @Test(arguments: 0..<12)
    func limitsHoldInAnyOrderOfCalls(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let capacity = [16, 100, 333, 4096][Int(seed % 4)]
        var budget = UnrecordedBudget<Int>(capacity: capacity)
        var held: [[Int]] = Array(repeating: [0, 0, 0], count: 4)
        var works: [[Bool]] = Array(repeating: [false, false, false], count: 4)
        for _ in 0..<600 {
            let key = Int.random(in: 0..<4, using: &random)
            let index = Int.random(in: 0..<3, using: &random)
            let lane = Lane.allCases[index]
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                works[key][index].toggle()
                budget.setWork(works[key][index], for: key, lane: lane)
            case 1:
                let count = Int.random(in: 0...held[key][index], using: &random)
                budget.release(count, for: key, lane: lane)
                held[key][index] -= count
            default:
                let before = held[key].reduce(0, +)
                works[key][index] = true
                let granted = budget.acquire(Int.random(in: 0...capacity, using: &random), for: key, lane: lane)
                held[key][index] += granted
                let othersWork = works.enumerated().contains { $0.offset != key && $0.element.contains(true) }
                #expect(granted == 0 || !othersWork || before + granted <= capacity / 2)
                let pooled = held.map { $0[1] + $0[2] }.reduce(0, +)
                #expect(granted == 0 || index == 0 || pooled <= capacity * 3 / 4)
            }
            #expect(budget.held == held.joined().reduce(0, +) && budget.held <= capacity)
            #expect(budget.held(by: key) == held[key].reduce(0, +))
        }
    }

    /// All lanes of two keys always have work; slots are returned after a while, and the order of requests is random.
    @Test(arguments: 0..<6)
    func everyLaneProgressesUnderFullLoad(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var budget = UnrecordedBudget<Int>()
        var flying: [(key: Int, lane: Lane, count: Int)] = []
        var sent: [Lane: Int] = [:]
        for key in 0..<2 { for lane in Lane.allCases { budget.setWork(true, for: key, lane: lane) } }
        for _ in 0..<400 {
            for key in 0..<2 {
                for lane in Lane.allCases.shuffled(using: &random) {
                    let granted = budget.acquire(Int.random(in: 1...2000, using: &random), for: key, lane: lane)
                    if granted > 0 { flying.append((key, lane, granted)) }
                }
            }
            for _ in 0..<(flying.count / 2) {
                let landed = flying.remove(at: Int.random(in: flying.indices, using: &random))
                budget.release(landed.count, for: landed.key, lane: landed.lane)
                sent[landed.lane, default: 0] += landed.count
            }
        }
        let total = sent.values.reduce(0, +)
        #expect(sent[.bulk, default: 0] * 20 >= total)
        #expect(sent[.transactional, default: 0] * 5 >= total)
        #expect(sent[.normal, default: 0] > 0)
    }
}
