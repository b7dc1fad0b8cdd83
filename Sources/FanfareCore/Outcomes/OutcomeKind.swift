/// The outcome of a delivery, without the reason: the text in column `outcome` of `outcome_codes`.
public enum OutcomeKind: String, CaseIterable, Sendable {
    /// No attempt was recorded yet.
    case pending
    /// The provider accepted the push; this does not prove that the device showed it.
    case accepted
    /// At most once: about to be sent to the provider. Becomes ``unknown`` after a crash.
    case attempted
    /// At most once: sent to the provider, and no answer was recorded.
    case unknown
    /// Past its `ttl`.
    case expired
    /// Cancelled before it was sent.
    case cancelled
    /// Replaced by a newer event with the same collapse key.
    case superseded
    /// The device was disabled between planning and sending.
    case disabled
    /// The user opted out or snoozed the category.
    case optedOut = "opted_out"
    /// The message could not be rendered.
    case refused
    /// Dropped after an outage, by the rule's `backlog`.
    case backlogDropped = "backlog_dropped"
    /// The attempts, or the time limit of Fanfare, are used up.
    case exhausted
    /// The user has reached one of the rule's caps.
    case capped
    /// The user is in the holdout.
    case heldOut = "held_out"
    /// The device is in its quiet hours.
    case quiet
    /// Its event was taken back before it was sent.
    case retracted
    /// Another attempt follows in a new batch.
    case retrying
    /// The provider reported the token dead; the device is disabled.
    case gone
    /// The provider refused this push; the device is kept.
    case rejected
}

/// The meaning of an outcome code by its range alone.
///
/// Total over all 256 codes, so that a daemon can act on a code that a newer version wrote.
public enum OutcomeRange: Sendable {
    /// 0: still to be sent.
    case pending
    /// 1: accepted by the provider, final.
    case accepted
    /// 2: recorded before an at-most-once attempt.
    case attempted
    /// 3–31: decided by Fanfare, final.
    case own
    /// 32–63: a new batch holds the next attempt.
    case retrying
    /// 64–95: final, and the device is disabled.
    case gone
    /// 96–255: refused by the provider, final, and the device is kept.
    case rejected

    /// Classifies a stored code.
    ///
    /// - Parameter code: any byte of an `outcomes` column.
    public init(code: UInt8) {
        switch code {
        case 0: self = .pending
        case 1: self = .accepted
        case 2: self = .attempted
        case 3...31: self = .own
        case 32...63: self = .retrying
        case 64...95: self = .gone
        default: self = .rejected
        }
    }

    /// Whether the delivery's outcome in this batch is final; a retry is in a new batch.
    public var isFinal: Bool {
        switch self {
        case .pending, .attempted, .retrying: false
        case .accepted, .own, .gone, .rejected: true
        }
    }
}
