/// What became of a delivery, without the reason: the text in column `outcome` of `outcome_codes`.
public enum OutcomeKind: String, CaseIterable, Sendable {
    /// No attempt was recorded yet.
    case pending
    /// The provider accepted the push; this does not prove that the device showed it.
    case accepted
    /// At most once: about to be handed to the provider. Becomes ``unknown`` after a crash.
    case attempted
    /// At most once: handed to the provider, and no answer was recorded.
    case unknown
    /// Past its `ttl`.
    case expired
    /// `cancel` reached it before it was sent.
    case cancelled
    /// A newer event with the same collapse key took its place.
    case superseded
    /// The device was disabled between planning and sending.
    case disabled
    /// The user opted out, for good or for now.
    case optedOut = "opted_out"
    /// Its message could not be rendered.
    case refused
    /// Dropped after an outage, as the rule's `backlog` asks.
    case backlogDropped = "backlog_dropped"
    /// All attempts, or the time Fanfare allows itself, are used up.
    case exhausted
    /// The user had had enough, by the rule's caps.
    case capped
    /// The user is one of those who are left out on purpose.
    case heldOut = "held_out"
    /// It was night where the device is.
    case quiet
    /// Another attempt follows in a new batch.
    case retrying
    /// The provider proved the token dead; the device is disabled.
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
    /// 1: taken by the provider, final.
    case accepted
    /// 2: written ahead of an at-most-once window.
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

    /// Whether nothing more will happen to the delivery in this batch's row; a retry is a new row.
    public var isFinal: Bool {
        switch self {
        case .pending, .attempted, .retrying: false
        case .accepted, .own, .gone, .rejected: true
        }
    }
}
