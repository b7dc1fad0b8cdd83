/// What one attempt says about the provider itself: what a ``Breaker`` counts.
public enum ProviderHealth: Equatable, Sendable {
    /// A push was accepted.
    case accepted
    /// The provider failed: 5xx, no answer, or an answer that is not its own.
    case failed
    /// The provider judged this push or this sender, and so works; or nothing was learned.
    case neutral
    /// The provider asks one device to wait. It works; but a service that says so to many means the sender
    /// (``Breaker/failed(device:at:)``).
    case throttled
}

/// The judgement on one attempt: the byte to record and what follows.
///
/// Where ``disposition`` asks for another attempt, ``outcome`` is a retrying one; ``RetrySchedule`` may still turn it into
/// `exhausted` or `expired`.
public struct Verdict: Equatable, Sendable {
    /// The byte to record.
    public let outcome: Outcome
    /// What follows.
    public let disposition: Disposition
    /// Whether the answer was not in the provider's table and was judged by its status class: to be logged.
    public let isUnrecognized: Bool
    /// Whether the connection that carried the attempt must take no further requests.
    public let replacesConnection: Bool

    /// A judgement.
    ///
    /// - Parameters:
    ///   - outcome: the byte to record.
    ///   - disposition: what follows.
    ///   - isUnrecognized: whether the answer was unknown to the table.
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

    /// Taken by the provider.
    public static let accepted = Verdict(.accepted, .final)

    /// The same, with the status in its outcome where that says no more than that it is one of those above 499.
    ///
    /// - Parameter status: of the answer.
    /// - Returns: it as it is where the outcome says more, or no outcome is set aside for the status.
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

    /// What the attempt says about the provider itself.
    ///
    /// A server that announces its end, or a request that was never processed, says nothing: others take over.
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
