/// The scope of an answer: the pushes that have to wait because of it.
public enum AnswerScope: Equatable, Sendable {
    /// This device only.
    case device
    /// Everything for the same provider-side topic.
    case topic
    /// Everything sent with the same credential (FCM: the project; Web Push: the host).
    case credential
}

/// When a push is retried, and whether the attempt counts.
public struct Retry: Equatable, Sendable {
    /// The rule for the time of the next attempt.
    public enum Pace: Equatable, Sendable {
        /// After the next wait of the backoff.
        case backoff
        /// At once the first time, then with backoff.
        case onceAtOnce
        /// At once for the first ``RetrySchedule/freeRepeats`` times, then with backoff.
        case repeatedly
    }

    /// The rule for the time of the next attempt.
    public let pace: Pace
    /// The minimum wait from now: the greater of the policy's minimum and `Retry-After`; 0 if there is neither.
    public let floor: Microseconds
    /// The scope that waits for ``floor``.
    public let scope: AnswerScope
    /// Whether the attempt does not count against `retry.attempts`.
    ///
    /// A request that was answered or may have arrived counts. Other failures are limited by time alone.
    public let isFree: Bool

    /// Makes a retry.
    ///
    /// - Parameters:
    ///   - pace: the rule for the time.
    ///   - floor: the minimum wait.
    ///   - scope: the scope that waits for `floor`.
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

/// Evidence that a token is dead, and the registrations that it applies to.
public struct PruneEvidence: Equatable, Sendable {
    /// The strength of the evidence; the prune fuse blows at different shares.
    public enum Strength: Equatable, Sendable {
        /// The provider's answer is about the token: 410, UNREGISTERED, 404.
        case strong
        /// Inferred: `BadDeviceToken` in both APNs environments, or a token or endpoint that FCM or Web Push reports as
        /// malformed.
        case weak
    }

    /// The strength of the evidence.
    public let strength: Strength
    /// The latest `registered_at` of a device to disable (wall clock): a later registration revived the token.
    public let registeredUpTo: Microseconds
    /// Whether the message may be at fault: then nothing is disabled until a push of another rule to the device fails
    /// as well.
    public let mayBlameMessage: Bool

    /// Makes evidence.
    ///
    /// - Parameters:
    ///   - strength: the strength of the evidence.
    ///   - registeredUpTo: the latest `registered_at` that it applies to, wall clock.
    ///   - mayBlameMessage: whether the message may be at fault.
    public init(strength: Strength, registeredUpTo: Microseconds, mayBlameMessage: Bool = false) {
        self.strength = strength
        self.registeredUpTo = registeredUpTo
        self.mayBlameMessage = mayBlameMessage
    }
}

/// The consequence of an answer, or of a missing one.
public enum Disposition: Equatable, Sendable {
    /// None; the outcome is final.
    case final
    /// Retry the same push at the time that ``RetrySchedule`` gives.
    case retry(Retry)
    /// Disable the device by compare-and-set, unless the prune fuse is blown.
    case prune(PruneEvidence)
    /// Send the same push at once to the device's other environment; only an acceptance there moves the device. If this
    /// daemon has no credentials for the other environment, the delivery ends with the given outcome.
    case tryOtherEnvironment(otherwise: Outcome)
    /// Renew the credential, once for all pushes refused with it; the push waits for the renewal.
    case renewCredential
    /// A configuration error: from now on only probes are sent in this scope, and an operator is alerted.
    ///
    /// The provider refused the sender and not the push, which waits with the others.
    case pause(AnswerScope)
    /// A configuration error that does not affect other pushes with the same credential: alert an operator, and
    /// continue sending.
    ///
    /// The push's outcome is final.
    case callOperator
}

extension Disposition {
    /// Whether the push waits in its batch until the provider accepts the sender again; it has no outcome, and no
    /// attempt is counted.
    package var refusesSender: Bool {
        switch self {
        case .renewCredential, .pause: true
        default: false
        }
    }
}
