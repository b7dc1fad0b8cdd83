/// When Fanfare gives a delivery up.
public struct Deadline: Equatable, Sendable {
    /// The time from which on it is too late (wall clock, in database time).
    public let at: Microseconds
    /// What is recorded from then on.
    public let outcome: Outcome
    /// When the message ends by what it says itself (wall clock); nil if it says nothing.
    public let messageEndsAt: Microseconds?

    /// How long Fanfare tries where no `ttl` is given.
    public static let patience: Microseconds = 24 * Micros.hour
    /// How long after the event a push is tried again that the provider is to deliver now or never, where no `ttl` is given.
    public static let nowOrNever: Microseconds = 30 * Micros.second

    /// The deadline of a delivery.
    ///
    /// - Parameters:
    ///   - createdAt: when the event was emitted (wall clock).
    ///   - ttl: the shorter of the event's and the rule's; nil where neither has one, and then the delivery ends as
    ///     `exhausted` after ``patience`` instead of `expired`.
    ///   - messageEndsAt: ``RenderedPush/endsAt`` of what is sent.
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

    /// What counts for an attempt.
    ///
    /// The end that the message itself gives tells the provider how long to keep it, not Fanfare when to begin: it binds
    /// neither the first attempt, whenever its turn comes, nor repeats at once, only what had to wait after a failure.
    ///
    /// - Parameter history: what was tried before that attempt.
    /// - Returns: the sooner of the two ends where both count.
    public func binding(_ history: RetryHistory) -> Deadline {
        guard history.waits > 0, let messageEndsAt, messageEndsAt < at else { return self }
        return Deadline(endOf: messageEndsAt)
    }
}

/// What becomes of a delivery after one attempt.
public enum RetryDecision: Equatable, Sendable {
    /// Nothing more; this is recorded.
    case final(Outcome)
    /// Another attempt not before `at` (wall clock); `outcome` is recorded for this one.
    ///
    /// The next attempt is judged with `history`.
    case again(at: Microseconds, outcome: Outcome, history: RetryHistory)
}

/// The retry policy: a total function of verdict and history.
///
/// Waits of 1 s, 4 s, 16 s, 1 min, 4 min, then 15 min, each ± 50 %, until the attempts or the time are used up.
public struct RetrySchedule: Equatable, Sendable {
    /// The waits before jitter; the last one repeats.
    public static let waits: [Microseconds] = [
        Micros.second, 4 * Micros.second, 16 * Micros.second, Micros.minute, 4 * Micros.minute, 15 * Micros.minute,
    ]
    /// How often a request that the provider never had is repeated at once.
    public static let freeRepeats: UInt8 = 5

    /// The most attempts that count, the first included: `retry.attempts`.
    public let maximumAttempts: UInt8

    /// A schedule.
    ///
    /// - Parameter maximumAttempts: `retry.attempts`; 0 acts as 1.
    public init(maximumAttempts: UInt8 = 10) {
        self.maximumAttempts = max(maximumAttempts, 1)
    }

    /// Decides what becomes of a delivery.
    ///
    /// - Parameters:
    ///   - verdict: the judgement on the attempt.
    ///   - history: what was tried before that attempt.
    ///   - deadline: when the delivery is given up.
    ///   - now: the time (wall clock).
    ///   - random: evenly distributed in 0..<1; spreads the waits.
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
        // A push whose sender was refused waits in its batch, and is not decided.
        case .final, .prune, .pause, .renewCredential, .callOperator: return .final(verdict.outcome)
        case .retry(let asked): retry = asked
        // Each environment has attempts of its own: what one of them does not know was not tried there.
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
            // A little beyond the floor, so that those who were told the same do not come back in one instant.
            wait = retry.floor.addingClamping(Int64(Double(retry.floor) * 0.1 * clampedUnit(random)))
        }
        let at = now.addingClamping(wait)
        let end = deadline.binding(next)
        return at < end.at ? .again(at: at, outcome: verdict.outcome, history: next) : .final(end.outcome)
    }

    /// Whether the next attempt is made at once; counts it among the free repeats where it is one.
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

    /// What the outcome of an attempt makes known to the next.
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
