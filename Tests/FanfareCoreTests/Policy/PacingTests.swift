import FanfareCore
import Testing

struct ConnectionPacerTests {
    @Test func aBurstThenOneAnInterval() {
        var pacer = ConnectionPacer(burst: 3, interval: 2 * Micros.second)
        for _ in 0..<3 { #expect(pacer.take(at: 100) == nil) }
        #expect(pacer.take(at: 100) == 100 + 2 * Micros.second)
        #expect(pacer.take(at: 99 + 2 * Micros.second) == 100 + 2 * Micros.second)
        #expect(pacer.take(at: 100 + 2 * Micros.second) == nil)
        #expect(pacer.take(at: 100 + 2 * Micros.second) == 100 + 4 * Micros.second)
    }

    @Test func aQuietWhileFillsTheBucketAndNoMore() {
        var pacer = ConnectionPacer(burst: 3, interval: Micros.second)
        for _ in 0..<3 { _ = pacer.take(at: 0) }
        let later = Micros.hour
        #expect((0..<5).map { _ in pacer.take(at: later) == nil } == [true, true, true, false, false])
    }

    @Test(arguments: 0..<10)
    func neverExceedsBurstAndRate(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var pacer = ConnectionPacer(burst: 4, interval: Micros.second)
        var now: Microseconds = 0
        var taken: [Microseconds] = []
        for _ in 0..<300 {
            now += Int64.random(in: 0...500_000, using: &random)
            if pacer.take(at: now) == nil { taken.append(now) }
        }
        for (index, start) in taken.enumerated() {
            for (count, end) in taken[index...].enumerated() {
                #expect(Int64(count + 1) <= 4 + (end - start) / Micros.second)
            }
        }
    }
}

struct CheckpointPolicyTests {
    @Test func dueAfter100MsOrAQuarterOfTheShare() {
        var policy = CheckpointPolicy()
        #expect(!policy.isDue(share: 4096, at: Micros.hour) && policy.dueAt == nil)
        policy.answered(1, at: 1000)
        policy.answered(1022, at: 50_000)
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

struct ReconnectBackoffTests {
    @Test func doublesToTheLongestWaitAndStartsOver() {
        var backoff = ReconnectBackoff(waits: 50_000...1_000_000)
        #expect((0..<7).map { _ in backoff.next(random: 1) } == [50, 100, 200, 400, 800, 1000, 1000].map { $0 * 1000 })
        backoff.reset()
        #expect(backoff.next(random: 0) == 25_000)
    }

    @Test(arguments: 0..<5)
    func jitterTakesAtMostHalfOff(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        var backoff = ReconnectBackoff()
        var ceiling: Microseconds = 50_000
        for _ in 0..<10 {
            let wait = backoff.next(random: Double.random(in: 0..<1, using: &random))
            #expect(wait >= ceiling / 2 && wait <= ceiling)
            ceiling = min(ceiling * 2, Micros.second)
        }
    }
}
