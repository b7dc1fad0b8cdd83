extension Outcome {
    /// The meaning of the code's range.
    public var range: OutcomeRange { OutcomeRange(code: rawValue) }

    /// The kind of outcome, without the reason.
    public var kind: OutcomeKind {
        switch self {
        case .pending: .pending
        case .accepted: .accepted
        case .attempted: .attempted
        case .unknown: .unknown
        case .expired, .expiredQuiet, .expiredSnoozed: .expired
        case .cancelled, .aborted: .cancelled
        case .superseded: .superseded
        case .disabled: .disabled
        case .optedOut, .snoozed: .optedOut
        case .refused, .destinationForbidden: .refused
        case .backlogDropped: .backlogDropped
        case .exhausted: .exhausted
        case .capped: .capped
        case .heldOut: .heldOut
        case .quiet: .quiet
        case .retracted: .retracted
        default:
            switch range {
            case .retrying: .retrying
            case .gone: .gone
            default: .rejected
            }
        }
    }

    /// Whether the delivery waits for its time without an attempt, so that the next attempt repeats nothing.
    public var isHeld: Bool { self == .heldQuiet || self == .heldSnoozed }

    /// The text in column `outcome` of `outcome_codes`.
    public var outcome: String { kind.rawValue }
}
