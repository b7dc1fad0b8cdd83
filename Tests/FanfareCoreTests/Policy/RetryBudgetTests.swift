import FanfareCore
import Testing

struct RetryBudgetTests {
    @Test func tenASecondAreGrantedWithoutAnyAnswers() {
        var budget = RetryBudget()
        for second in 0..<30 {
            let now = Int64(second) * Micros.second
            #expect(budget.take(1000, at: now) == 10)
            #expect(budget.take(1000, at: now + 999_999) == 0)
        }
    }

    @Test func grantsATenthOfTheAnswers() {
        var budget = RetryBudget()
        budget.answered(5000, at: 0)
        #expect(budget.take(300, at: 1) == 300)
        #expect(budget.take(300, at: 2) == 200)
        #expect(budget.take(300, at: 3) == 0)
        // The answers leave the window together with the retries they paid for.
        #expect(budget.take(300, at: 10 * Micros.second) == 10)
    }

    @Test func nothingAndLessThanNothingTakeNothing() {
        var budget = RetryBudget()
        #expect(budget.take(0, at: 0) == 0 && budget.take(-5, at: 0) == 0)
        budget.answered(-100, at: 0)
        #expect(budget.take(20, at: 0) == 10)
    }

    @Test(arguments: 0..<10)
    func grantsStayWithinBothShares(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var budget = RetryBudget()
        var now: Microseconds = 0
        var answers: [(at: Int64, count: Int)] = []
        var grants: [(at: Int64, count: Int)] = []
        for _ in 0..<300 {
            now += Int64.random(in: 0...400_000, using: &random)
            let answered = Int.random(in: 0...500, using: &random)
            budget.answered(answered, at: now)
            answers.append((now, answered))
            grants.append((now, budget.take(Int.random(in: 0...100, using: &random), at: now)))
            // Ten whole seconds of the clock, the current one included.
            let from = (now / Micros.second - 9) * Micros.second
            let recent = answers.lazy.filter { $0.at >= from }.map(\.count).reduce(0, +)
            let granted = grants.lazy.filter { $0.at >= from }.map(\.count).reduce(0, +)
            #expect(granted <= recent / 10 + 100)
        }
    }
}
