/// How far an answer reaches: whom else it tells to wait.
public enum AnswerScope: Equatable, Sendable {
    /// This device only; nothing else waits.
    case device
    /// Everything for the same provider-side topic.
    case topic
    /// Everything sent with the same credential (FCM: the project; Web Push: the host).
    case credential
}

/// When and at whose cost a push is tried again.
public struct Retry: Equatable, Sendable {
    /// What decides the time of the next attempt.
    public enum Pace: Equatable, Sendable {
        /// The next wait of the back-off.
        case backoff
        /// At once the first time, then the back-off.
        case onceAtOnce
        /// At once for the first ``RetrySchedule/freeRepeats`` times, then the back-off.
        case repeatedly
    }

    /// What decides the time of the next attempt.
    public let pace: Pace
    /// The least wait from now: the greater of the policy's own minimum and `Retry-After`, 0 where there is neither.
    public let floor: Microseconds
    /// Who else waits for ``floor``.
    public let scope: AnswerScope
    /// Whether the attempt is left out of the count against `retry.attempts`.
    ///
    /// What counts are requests that were answered or may have arrived; the others end by time alone.
    public let isFree: Bool

    /// A retry.
    ///
    /// - Parameters:
    ///   - pace: what decides the time.
    ///   - floor: the least wait.
    ///   - scope: who else waits for `floor`.
    ///   - isFree: whether it never counts as an attempt.
    public init(
        pace: Pace = .backoff,
        floor: Microseconds = 0,
        scope: AnswerScope = .device,
        isFree: Bool = false
    ) {
        self.pace = pace
        self.floor = floor
        self.scope = scope
        self.isFree = isFree
    }
}

/// Proof that a token is dead, and for which registrations it holds.
public struct PruneEvidence: Equatable, Sendable {
    /// How sure it is; the prune fuse blows at different shares.
    public enum Strength: Equatable, Sendable {
        /// The provider spoke of the token's life: 410, UNREGISTERED, 404.
        case strong
        /// Inferred: `BadDeviceToken` in both APNs environments, a token or endpoint that FCM or Web Push calls malformed.
        case weak
    }

    /// How sure it is.
    public let strength: Strength
    /// Disable the device only where `registered_at` is at most this (wall clock): a later registration revived the token.
    public let registeredUpTo: Microseconds
    /// Whether the message may be at fault: then nothing is disabled until one of another rule to the device fails as well.
    public let mayBlameMessage: Bool

    /// An evidence.
    ///
    /// - Parameters:
    ///   - strength: how sure it is.
    ///   - registeredUpTo: the latest `registered_at` it speaks of, wall clock.
    ///   - mayBlameMessage: whether the message may be at fault.
    public init(strength: Strength, registeredUpTo: Microseconds, mayBlameMessage: Bool = false) {
        self.strength = strength
        self.registeredUpTo = registeredUpTo
        self.mayBlameMessage = mayBlameMessage
    }
}

/// What follows from an answer, or from the lack of one.
public enum Disposition: Equatable, Sendable {
    /// Nothing; the outcome stands.
    case final
    /// The same push again, when ``RetrySchedule`` says.
    case retry(Retry)
    /// Disable the device by compare-and-set, unless the prune fuse is blown.
    case prune(PruneEvidence)
    /// The same push at once to the device's other environment; only an acceptance there moves the device. Where this daemon
    /// knows no other, the delivery ends with the outcome given.
    case tryOtherEnvironment(otherwise: Outcome)
    /// Renew the credential, once for all pushes refused with it; the push waits for that.
    case renewCredential
    /// A configuration error: only probes are sent in this scope from now on, and an operator is called.
    ///
    /// The provider refused the sender and not the push, which waits with the others.
    case pause(AnswerScope)
    /// A configuration error that others sent with the same credential do not share: call an operator, and go on sending.
    ///
    /// The push itself is final.
    case callOperator
}

extension Disposition {
    /// Whether the push waits in its batch until its sender is taken again: nothing became of it, and no attempt is counted.
    package var refusesSender: Bool {
        switch self {
        case .renewCredential, .pause: true
        default: false
        }
    }
}
