/// The time at which a delivery is given up.
public struct Deadline: Equatable, Sendable {
    /// The time from which the delivery is too late (wall clock, in database time).
    public let at: Microseconds
    /// The outcome recorded from then on.
    public let outcome: Outcome
    /// The end that the message itself sets (wall clock); nil if it sets none.
    public let messageEndsAt: Microseconds?

    /// How long Fanfare retries without a `ttl`.
    public static let patience: Microseconds = 24 * Micros.hour
    /// How long after the event Fanfare retries a push that the provider is to deliver now or never, without a `ttl`.
    public static let nowOrNever: Microseconds = 30 * Micros.second

    /// Makes the deadline of a delivery.
    ///
    /// - Parameters:
    ///   - createdAt: when the event was emitted (wall clock).
    ///   - ttl: the shorter ttl of the event and the rule; nil if neither has one, and then the delivery ends as
    ///     `exhausted` after ``patience`` instead of `expired`.
    ///   - messageEndsAt: the rendered push's ``RenderedPush/endsAt``.
    public init(createdAt: Microseconds, ttl: Microseconds?, messageEndsAt: Microseconds? = nil) {
        at = createdAt.addingClamping(ttl ?? Self.patience)
        outcome = ttl == nil ? .exhausted : .expired
        self.messageEndsAt = messageEndsAt
    }

    private init(endOf messageEndsAt: Microseconds) {
        at = messageEndsAt
        outcome = .expired
        self.messageEndsAt = messageEndsAt
    }

    /// Returns the deadline that applies to an attempt.
    ///
    /// The message's own end tells the provider how long to store the push. It does not limit the first attempt,
    /// however late, nor immediate repeats; it limits only retries that had to wait after a failure.
    ///
    /// - Parameter history: the attempts before that one.
    /// - Returns: the earlier of the two ends if both apply.
    public func binding(_ history: RetryHistory) -> Deadline {
        guard history.waits > 0, let messageEndsAt, messageEndsAt < at else { return self }
        return Deadline(endOf: messageEndsAt)
    }
}

/// The continuation of a delivery after one attempt.
public enum RetryDecision: Equatable, Sendable {
    /// No further attempt; the outcome is recorded.
    case final(Outcome)
    /// Another attempt at `at` or later (wall clock); `outcome` is recorded for this one.
    ///
    /// The next attempt is judged with `history`.
    case again(at: Microseconds, outcome: Outcome, history: RetryHistory)
}

/// The retry policy: a total function of verdict and history.
///
/// The waits are 1 s, 4 s, 16 s, 1 min, 4 min, then 15 min, each ± 50 %, until the attempts or the time are used up.
public struct RetrySchedule: Equatable, Sendable {
    /// The waits before jitter; the last one repeats.
    public static let waits: [Microseconds] = [
        Micros.second, 4 * Micros.second, 16 * Micros.second, Micros.minute, 4 * Micros.minute, 15 * Micros.minute,
    ]
    /// How often a request that the provider did not receive is repeated at once.
    public static let freeRepeats: UInt8 = 5

    /// The maximum number of attempts that count, including the first one: `retry.attempts`.
    public let maximumAttempts: UInt8

    /// Makes a schedule.
    ///
    /// - Parameter maximumAttempts: `retry.attempts`; 0 acts as 1.
    public init(maximumAttempts: UInt8 = 10) {
        self.maximumAttempts = max(maximumAttempts, 1)
    }

    /// Decides how a delivery continues.
    ///
    /// - Parameters:
    ///   - verdict: the judgement on the attempt.
    ///   - history: the attempts before that one.
    ///   - deadline: when the delivery is given up.
    ///   - now: the time (wall clock).
    ///   - random: a number evenly distributed in 0..<1, for the jitter.
    /// - Returns: the end, or the time of the next attempt, which lies before the deadline.
    public func decide(
        _ verdict: Verdict,
        history: RetryHistory,
        deadline: Deadline,
        now: Microseconds,
        random: Double
    ) -> RetryDecision {
        let retry: Retry
        switch verdict.disposition {
        // A push whose sender was refused waits in its batch; this function is not called for it.
        case .final, .prune, .pause, .renewCredential, .callOperator: return .final(verdict.outcome)
        case .retry(let asked): retry = asked
        // Attempts are counted by environment: an attempt in one does not count in the other.
        case .tryOtherEnvironment: retry = Retry(pace: .onceAtOnce, isFree: true)
        }
        var next = history
        next.marks.formUnion(mark(for: verdict.outcome))
        let isAtOnce = takesRepeatAtOnce(retry.pace, before: history, after: &next)
        if !retry.isFree {
            next.attempts = history.attempts == .max ? .max : history.attempts + 1
            guard next.attempts < maximumAttempts else { return .final(.exhausted) }
        }
        var wait = isAtOnce ? 0 : backoff(&next, random: random)
        if retry.floor > wait {
            // Up to a tenth is added to the floor, so that deliveries with the same floor do not return at the same
            // instant.
            wait = retry.floor.addingClamping(Int64(Double(retry.floor) * 0.1 * clampedUnit(random)))
        }
        let at = now.addingClamping(wait)
        let end = deadline.binding(next)
        return at < end.at ? .again(at: at, outcome: verdict.outcome, history: next) : .final(end.outcome)
    }

    /// Returns whether the next attempt is made at once, and counts it if it is a free repeat.
    private func takesRepeatAtOnce(
        _ pace: Retry.Pace,
        before history: RetryHistory,
        after next: inout RetryHistory
    ) -> Bool {
        switch pace {
        case .backoff: return false
        case .onceAtOnce: return next.marks != history.marks
        case .repeatedly:
            guard history.freeRepeats < Self.freeRepeats else { return false }
            next.freeRepeats += 1
            return true
        }
    }

    private func backoff(_ next: inout RetryHistory, random: Double) -> Microseconds {
        let wait = Self.waits[min(Int(next.waits), Self.waits.count - 1)]
        next.waits = min(next.waits + 1, 15)
        return Int64(Double(wait) * (0.5 + clampedUnit(random)))
    }

    /// Returns the mark that an outcome sets for the next attempt.
    private func mark(for outcome: Outcome) -> RetryHistory.Marks {
        switch outcome {
        case .retryingAnswerLost: .resent
        case .retryingOtherConnection: .otherConnection
        case .retryingOtherEnvironment: .otherEnvironment
        case .retryingRegisteredLater: .registeredLater
        default: []
        }
    }
}
