import FanfareCore
import Testing

@testable import FanfareProviders
@testable import FanfareSending
@testable import FanfareService
@testable import FanfareStages
@testable import FanfareStore

/// The size of a planning round, its event types, and its suspects.
struct RoundValueTests {
    // MARK: RoundLimit

    private let limit = RoundLimit(1000, most: 1000, target: 100_000)

    @Test func aLongRoundIsFollowedByOneThatIsShorter() {
        var limit = limit
        limit.planned(1000, in: 400_000)
        #expect(limit.count == 250)
        limit.planned(250, in: 100_000)
        #expect(limit.count == 250)
        limit.planned(250, in: 10_000)
        #expect(limit.count == 1000)
        limit.planned(1, in: 3_000_000)
        #expect(limit.count == 1)
        limit.planned(0, in: 3_000_000)
        #expect(limit.count == 1)
    }

    @Test func aFewEventsSayNothingOfMany() {
        var limit = limit
        limit.planned(2, in: 90_000)
        #expect(limit.count == 1000)
    }

    @Test func whatFailsIsTriedInLessUntilItIsAlone() {
        var limit = limit
        limit.failed(1000, tookTooLong: false)
        #expect(limit.count == 100)
        // The limit does not grow again before the slow event is found.
        limit.planned(100, in: 1000)
        #expect(limit.count == 100)
        limit.failed(100, tookTooLong: false)
        #expect(limit.count == 10)
        limit.failed(10, tookTooLong: false)
        #expect(limit.count == 1)
        limit.failed(1, tookTooLong: false)
        #expect(limit.count == 1)
        limit.recovered()
        #expect(limit.count == 250)
        limit.planned(250, in: 1000)
        #expect(limit.count == 1000)
    }

    @Test func whereFailingTakesLongItIsTriedLessOften() {
        var limit = limit
        limit.failed(1000, tookTooLong: true)
        #expect(limit.count == 31)
        limit.failed(31, tookTooLong: true)
        #expect(limit.count == 1)
    }

    @Test func aSetThatFailsOnceOnlyIsForgotten() {
        var limit = limit
        limit.failed(5, tookTooLong: false)
        for _ in 0..<5 { limit.planned(1, in: 1000) }
        #expect(limit.count == 4)
    }

    // MARK: Suspects

    private func set(_ sizes: [(String, Int32)]) -> [OutboxSize] {
        sizes.enumerated().map { OutboxSize(eventID: Int64($0.offset), type: $0.element.0, size: $0.element.1) }
    }

    @Test func whatStandsOutByItsSizeIsSuspected() {
        var suspects = Suspects()
        var isNew = suspects.learn(from: set([("a", 300), ("a", 300), ("b", 300), ("b", 40_000), ("c", 1100)]), at: 0)
        #expect(isNew)
        #expect(suspects.sizes == ["b": 1200])
        isNew = suspects.learn(from: set([("a", 300), ("a", 300), ("b", 40_000)]), at: 1)
        #expect(!isNew, "nothing new")
        isNew = suspects.learn(from: set([("a", 100), ("a", 100), ("b", 1100)]), at: 1)
        #expect(isNew)
        #expect(suspects.sizes == ["b": 512])
    }

    @Test func whereAllAreAlikeNobodyIs() {
        var suspects = Suspects()
        var isNew = suspects.learn(from: set([("a", 40_000), ("a", 40_000), ("b", 41_000)]), at: 0)
        #expect(!isNew)
        isNew = suspects.learn(from: set([("a", 40_000)]), at: 0)
        #expect(!isNew)
        isNew = suspects.learn(from: [], at: 0)
        #expect(!isNew)
        #expect(suspects == Suspects())
    }

    @Test func oneThatWasAloneMakesItsLikeSuspected() {
        var suspects = Suspects()
        var isNew = suspects.learn(fromLone: OutboxSize(eventID: 1, type: "a", size: 500), at: 0)
        #expect(!isNew)
        isNew = suspects.learn(fromLone: OutboxSize(eventID: 1, type: "a", size: 40_000), at: 0)
        #expect(isNew)
        #expect(suspects.sizes == ["a": 20_000])
    }

    @Test func suspicionPasses() {
        var suspects = Suspects()
        let bomb = OutboxSize(eventID: 1, type: "a", size: 40_000)
        var isNew = suspects.learn(fromLone: bomb, at: 0)
        #expect(isNew)
        isNew = suspects.learn(fromLone: bomb, at: 30 * Micros.second)
        #expect(!isNew, "nothing new, but remembered for longer")
        isNew = suspects.forget(at: 89 * Micros.second)
        #expect(!isNew)
        isNew = suspects.forget(at: 90 * Micros.second)
        #expect(isNew)
        #expect(suspects.sizes.isEmpty)
        isNew = suspects.forget(at: 91 * Micros.second)
        #expect(!isNew)
    }

    // MARK: EventTypeRules

    @Test func typesWithManyRulesTakeTurnsOneByOneAndTheRestTogether() {
        let many = (0..<12).map { EventTypeRuleCount(type: "m\($0)", rules: 100 + Int64($0), isUrgent: true) }
        let few = EventTypeRuleCount(type: "f", rules: EventTypeRules.many, isUrgent: true)
        let rules = EventTypeRules(many + [few])
        #expect(rules.urgent == ["f"])
        #expect(rules.heavy.count == 9)
        #expect(rules.heavy.first == EventTypeRules.Heavy(types: ["m11"], rules: 111))
        #expect(rules.heavy.last == EventTypeRules.Heavy(types: ["m3", "m2", "m1", "m0"], rules: 103))
    }
}
