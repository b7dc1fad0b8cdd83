/// What one attempt shows about the provider's health, as counted by a ``Breaker``.
public enum ProviderHealth: Equatable, Sendable {
    /// A push was accepted.
    case accepted
    /// The provider failed: 5xx, no answer, or an answer that is not the provider's.
    case failed
    /// The provider judged this push or this sender, and so works; or the attempt shows nothing.
    case neutral
    /// The provider asks one device to wait, and so works; but a service that throttles many devices is throttling the
    /// sender (``Breaker/failed(device:at:)``).
    case throttled
}

/// The judgement on one attempt: the outcome to record and the consequence.
///
/// If ``disposition`` demands another attempt, ``outcome`` is a retrying one; ``RetrySchedule`` may still replace it by
/// `exhausted` or `expired`.
public struct Verdict: Equatable, Sendable {
    /// The outcome to record.
    public let outcome: Outcome
    /// The consequence.
    public let disposition: Disposition
    /// Whether the answer is not in the provider's table and was judged by its status class; such answers are logged.
    public let isUnrecognized: Bool
    /// Whether the connection that carried the attempt must take no further requests.
    public let replacesConnection: Bool

    /// Makes a verdict.
    ///
    /// - Parameters:
    ///   - outcome: the outcome to record.
    ///   - disposition: the consequence.
    ///   - isUnrecognized: whether the answer is not in the provider's table.
    ///   - replacesConnection: whether the connection must take no further requests.
    public init(
        _ outcome: Outcome,
        _ disposition: Disposition,
        isUnrecognized: Bool = false,
        replacesConnection: Bool = false
    ) {
        self.outcome = outcome
        self.disposition = disposition
        self.isUnrecognized = isUnrecognized
        self.replacesConnection = replacesConnection
    }

    /// The verdict of a push that the provider accepted.
    public static let accepted = Verdict(.accepted, .final)

    /// Returns the verdict with an outcome for its exact 5xx status, if the outcome is the general one for a 5xx
    /// status.
    ///
    /// - Parameter status: the status of the answer.
    /// - Returns: the verdict unchanged if its outcome is a more specific one, or the status has no outcome of its own.
    public func naming(status: Int) -> Verdict {
        guard outcome == .retryingStatus5xx else { return self }
        let named: Outcome
        switch status {
        case 500: named = .retryingStatus500
        case 502: named = .retryingStatus502
        case 503: named = .retryingStatus503
        case 504: named = .retryingStatus504
        default: return self
        }
        return Verdict(named, disposition, isUnrecognized: isUnrecognized, replacesConnection: replacesConnection)
    }

    /// What the attempt shows about the provider's health.
    ///
    /// A server that announces its shutdown, or a request that was not processed, shows nothing: other servers take
    /// over.
    public var health: ProviderHealth {
        switch outcome {
        case .accepted: .accepted
        case .retryingDeviceThrottled: .throttled
        case .retryingServerError, .retryingUnavailable, .retryingStatus5xx, .retryingAnswerLost, .unknown,
            .retryingForeignAnswer, .retryingStatus500, .retryingStatus502, .retryingStatus503, .retryingStatus504:
            .failed
        default: .neutral
        }
    }
}
