import FanfareCore
import Testing

@testable import FanfareProviders

private let now: Microseconds = 1_790_000_000 * Micros.second
private let far = Deadline(createdAt: now, ttl: nil)
private let unavailable = Verdict(.retryingUnavailable, .retry(Retry()))
private let lost = Verdict(fate: .ambiguous, atMostOnce: false)

/// Returns the waits until the end; each attempt's history is passed to the next.
private func waits(
    after verdict: Verdict,
    schedule: RetrySchedule = RetrySchedule(),
    random: Double = 0.5,
    limit: Int = 40
) -> (waits: [Microseconds], end: Outcome?) {
    var history = RetryHistory.none
    var waits: [Microseconds] = []
    while waits.count < limit {
        switch schedule.decide(verdict, history: history, deadline: far, now: now, random: random) {
        case .final(let outcome): return (waits, outcome)
        case .again(let at, _, let next):
            waits.append(at - now)
            history = RetryHistory(encoded: next.encoded)
        }
    }
    return (waits, nil)
}

struct RetryScheduleTests {
    private static let minute = Micros.minute
    private static let backoff = [
        Micros.second, 4 * Micros.second, 16 * Micros.second, minute, 4 * minute, 15 * minute, 15 * minute, 15 * minute,
        15 * minute,
    ]

    @Test func tenAttemptsNineWaitsThenExhausted() {
        let run = waits(after: unavailable)
        #expect(run.waits == Self.backoff)
        #expect(run.end == .exhausted)
    }

    @Test(arguments: [UInt8(0), 1, 2, 255])
    func attemptsAreLimitedAndOneAtLeast(attempts: UInt8) {
        let run = waits(after: unavailable, schedule: RetrySchedule(maximumAttempts: attempts), limit: 300)
        #expect(run.waits.count == max(Int(attempts), 1) - 1)
        #expect(run.end == .exhausted)
    }

    @Test(arguments: 0..<20)
    func jitterStaysWithinHalfOfTheWaitOnEitherSide(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for (step, wait) in Self.backoff.enumerated() {
            let history = RetryHistory(attempts: UInt8(step), waits: UInt8(step))
            let unit = Double.random(in: 0..<1, using: &random)
            let decision = RetrySchedule()
                .decide(unavailable, history: history, deadline: far, now: now, random: unit)
            guard case .again(let at, _, _) = decision else {
                Issue.record("ended at step \(step)")
                return
            }
            #expect(at - now >= wait / 2 && at - now <= wait * 3 / 2)
        }
    }

    @Test(arguments: [-1.0, 0, 1, 2, .infinity, -.infinity, .nan])
    func aRandomNumberOutOfBoundsCannotBreakTheBounds(random: Double) {
        #expect(
            waits(after: unavailable, random: random).waits.allSatisfy { $0 >= 500_000 && $0 <= 1350 * Micros.second }
        )
    }

    @Test func lostAnswerIsResentOnceAtOnce() {
        #expect(waits(after: lost).waits == [0] + Self.backoff.dropLast())
        #expect(waits(after: lost).end == .exhausted)
    }

    /// The provider did not process the push, so only its deadline ends it.
    @Test func whatWasNotProcessedIsRepeatedAtOnceFiveTimesAndNeverCounts() {
        let run = waits(after: Verdict(fate: .notProcessed, atMostOnce: true), limit: 300)
        #expect(run.waits.prefix(14) == (Array(repeating: 0, count: 5) + Self.backoff)[...])
        #expect(run.end == nil && run.waits.last == 15 * Self.minute)
    }

    @Test func whatWasNotSentNeverCountsAndEndsByTimeAlone() {
        let verdict = Verdict(fate: .notSent, atMostOnce: true)
        let run = waits(after: verdict, limit: 300)
        #expect(run.waits.prefix(7) == [0, 0, 0, 0, 0, 1_000_000, 4_000_000])
        #expect(run.end == nil && run.waits.last == 15 * Self.minute)
        let late = RetrySchedule().decide(verdict, history: .none, deadline: far, now: far.at, random: 0)
        #expect(late == .final(.exhausted))
    }

    @Test func aFloorHoldsAndSpreadsByATenth() {
        for random in [0.0, 0.3, 0.999] {
            let verdict = Verdict(.retryingDeviceThrottled, .retry(Retry(floor: Self.minute)))
            let first = waits(after: verdict, random: random).waits[0]
            #expect(first >= Self.minute && first <= Self.minute * 11 / 10)
        }
    }

    @Test func theOtherEnvironmentIsAskedAtOnceAndNothingIsCounted() {
        let verdict = Verdict(.retryingOtherEnvironment, .tryOtherEnvironment(otherwise: .apnsBadDeviceToken))
        let decision = RetrySchedule().decide(verdict, history: .none, deadline: far, now: now, random: 0.5)
        let history = RetryHistory(marks: .otherEnvironment)
        #expect(decision == .again(at: now, outcome: .retryingOtherEnvironment, history: history))
    }

    /// An attempt that repeats no failure does not use the retry budget.
    @Test func onlyTheFirstAttemptInTheOtherEnvironmentIsAMove() {
        let elsewhere = Verdict(.retryingOtherEnvironment, .tryOtherEnvironment(otherwise: .apnsBadDeviceToken))
        let steps = [
            [elsewhere], [elsewhere, unavailable], [unavailable, elsewhere], [elsewhere, lost], [unavailable], [],
        ]
        let moves = steps.map { verdicts in
            verdicts.reduce(RetryHistory.none) { history, verdict in
                let decision = RetrySchedule()
                    .decide(verdict, history: history, deadline: far, now: now, random: 0.5)
                guard case .again(_, _, let next) = decision else { return history }
                return next
            }.isMove
        }
        #expect(moves == [true, false, false, false, false, false])
    }

    @Test func nothingIsPlannedAtOrAfterTheDeadline() {
        let short = Deadline(createdAt: now, ttl: Micros.second)
        let schedule = RetrySchedule()
        #expect(
            schedule.decide(unavailable, history: .none, deadline: short, now: now, random: 0.5) == .final(.expired)
        )
        let inTime = schedule.decide(unavailable, history: .none, deadline: short, now: now, random: 0.49)
        #expect(
            inTime
                == .again(
                    at: now + 990_000,
                    outcome: .retryingUnavailable,
                    history: RetryHistory(attempts: 1, waits: 1)
                )
        )
        #expect(
            schedule.decide(lost, history: .none, deadline: short, now: now + Micros.second, random: 0)
                == .final(.expired)
        )
    }

    @Test func theMessagesOwnEndBindsWhatHadToWait() {
        let own = Deadline(createdAt: now, ttl: nil, messageEndsAt: now + 30 * Micros.second)
        let schedule = RetrySchedule()
        let waited = RetryHistory(attempts: 1, waits: 1)
        let soon = schedule.decide(unavailable, history: .none, deadline: own, now: now, random: 0.5)
        #expect(soon == .again(at: now + Micros.second, outcome: .retryingUnavailable, history: waited))
        #expect(own.binding(waited).at == now + 30 * Micros.second && own.binding(waited).outcome == .expired)
        let late = now + 40 * Micros.second
        let refused = schedule.decide(unavailable, history: .none, deadline: own, now: late, random: 0.5)
        #expect(refused == .final(.expired))
        // A first attempt may be delayed, and an immediate repetition is no later than that.
        #expect(own.binding(.none) == own)
        let resent = RetryHistory(attempts: 1, marks: .resent)
        let atOnce = schedule.decide(lost, history: .none, deadline: own, now: late, random: 0.5)
        #expect(atOnce == .again(at: late, outcome: .retryingAnswerLost, history: resent))
        let shorter = Deadline(createdAt: now, ttl: Micros.second, messageEndsAt: now + 30 * Micros.second)
        #expect(shorter.binding(waited) == shorter)
    }

    @Test func withoutATtlAPairEndsAsExhaustedAfterADay() {
        #expect(far == Deadline(createdAt: now, ttl: nil) && far.at == now + 24 * Micros.hour)
        #expect(far.outcome == .exhausted)
        #expect(Deadline(createdAt: now, ttl: Int64.max).at == .max)
    }

    @Test(arguments: 0..<30)
    func anyAnswersEndInAFinalOutcome(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var history = RetryHistory.none
        var clock = now
        for step in 1... {
            let context = AttemptContext(history: history, registeredAt: now, answeredAt: clock)
            let decision = RetrySchedule()
                .decide(
                    anyVerdict(context, using: &random),
                    history: history,
                    deadline: far,
                    now: clock,
                    random: Double.random(in: 0..<1, using: &random)
                )
            guard case .again(let at, let outcome, let next) = decision else {
                if case .final(let outcome) = decision { #expect(outcome.range.isFinal) }
                #expect(step <= 11, "10 attempts and the other environment")
                return
            }
            #expect(outcome.kind == .retrying && at >= clock && at < far.at)
            #expect(RetryHistory(encoded: next.encoded) == next && next.encoded >= 0)
            #expect(next.marks.isSuperset(of: history.marks))
            history = next
            clock = at
        }
    }

    /// Returns a random verdict, mostly with a retry; those without a limit of attempts are excluded.
    private func anyVerdict(_ context: AttemptContext, using random: inout SeededGenerator) -> Verdict {
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return Verdict(fate: .ambiguous, atMostOnce: false)
        default:
            let retried: [APNsReason] = [
                .internalServerError, .shutdown, .tooManyRequests, .badDeviceToken, .expiredProviderToken, .idleTimeout,
                .unrelatedKeyIdInToken, .serviceUnavailable,
            ]
            let reason = retried[Int.random(in: retried.indices, using: &random)]
            let answer = APNsAnswer(status: reason.status, error: APNsErrorBody(reason: reason.rawValue))
            return answer.verdict(in: context)
        }
    }
}

struct RetryHistoryTests {
    @Test func aDeliveryThatWasNeverSentIsEncodedAsZero() {
        #expect(RetryHistory.none.encoded == 0 && RetryHistory(encoded: 0) == .none)
    }

    @Test(arguments: 0..<20)
    func anyStoredNumberIsAHistory(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let history = RetryHistory(encoded: Int32.random(in: .min ... .max, using: &random))
        #expect(RetryHistory(encoded: history.encoded) == history)
    }

    @Test func countersSaturate() {
        let history = RetryHistory(attempts: 255, waits: 200, freeRepeats: 200)
        #expect(history.waits == 15 && history.freeRepeats == 15 && RetryHistory(encoded: history.encoded) == history)
    }
}
