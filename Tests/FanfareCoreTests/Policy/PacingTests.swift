import FanfareCore
import Testing

struct CheckpointPolicyTests {
    @Test func dueAfter100MsOrHalfOfTheShare() {
        var policy = CheckpointPolicy()
        #expect(!policy.isDue(share: 4096, at: Micros.hour) && policy.dueAt == nil)
        policy.answered(1, at: 1000)
        policy.answered(2046, at: 50_000)
        #expect(!policy.isDue(share: 4096, at: 100_999))
        #expect(policy.isDue(share: 4096, at: 101_000) && policy.dueAt == 101_000)
        policy.answered(1, at: 50_001)
        #expect(policy.isDue(share: 4096, at: 50_001))
    }

    @Test func answersDuringACheckpointBelongToTheNext() {
        var policy = CheckpointPolicy()
        policy.answered(2000, at: 0)
        policy.begun()
        #expect(!policy.isDue(share: 4096, at: Micros.hour))
        policy.answered(3, at: 500)
        #expect(policy.answered == 3 && policy.dueAt == 100_500)
    }

    @Test func aTinyShareIsRecordedAnswerByAnswer() {
        var policy = CheckpointPolicy()
        policy.answered(1, at: 0)
        #expect(policy.isDue(share: 1, at: 0) && policy.isDue(share: 0, at: 0))
    }
}

struct ReturnPaceTests {
    @Test func batchesComeBackAfterFiveSecondsTenInASecond() {
        var pace = ReturnPace()
        let first = (0..<4).map { _ in pace.delay(at: Micros.minute) }
        #expect(first == [5000, 5100, 5200, 5300].map { $0 * Micros.millisecond })
        #expect(pace.delay(at: Micros.minute + 2 * Micros.second) == 5 * Micros.second, "the last of them is past then")
        #expect(pace.delay(at: 0) == Micros.minute + 7100 * Micros.millisecond)
    }
}

struct ReconnectBackoffTests {
    @Test func doublesToTheLongestWaitAndStartsOver() {
        var backoff = ReconnectBackoff(waits: 50_000...1_000_000)
        #expect((0..<7).map { _ in backoff.next(random: 1) } == [50, 100, 200, 400, 800, 1000, 1000].map { $0 * 1000 })
        backoff.reset()
        #expect(backoff.next(random: 0) == 25_000)
    }

    @Test(arguments: 0..<5)
    func jitterTakesAtMostHalfOff(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var backoff = ReconnectBackoff()
        var ceiling: Microseconds = 50_000
        for _ in 0..<10 {
            let wait = backoff.next(random: Double.random(in: 0..<1, using: &random))
            #expect(wait >= ceiling / 2 && wait <= ceiling)
            ceiling = min(ceiling * 2, Micros.second)
        }
    }
}
