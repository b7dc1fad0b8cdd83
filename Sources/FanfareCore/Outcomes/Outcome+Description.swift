extension Outcome {
    /// The meaning of the code's range.
    public var range: OutcomeRange { OutcomeRange(code: rawValue) }

    /// What became of the pair, without the reason.
    public var kind: OutcomeKind {
        switch self {
        case .pending: .pending
        case .accepted: .accepted
        case .attempted: .attempted
        case .unknown: .unknown
        case .expired: .expired
        case .cancelled: .cancelled
        case .superseded: .superseded
        case .disabled: .disabled
        case .optedOut: .optedOut
        case .refused, .destinationForbidden: .refused
        case .backlogDropped: .backlogDropped
        case .exhausted: .exhausted
        default:
            switch range {
            case .retrying: .retrying
            case .gone: .gone
            default: .rejected
            }
        }
    }

    /// The text in column `outcome` of `outcome_codes`.
    public var outcome: String { kind.rawValue }

    /// Why: the provider's own reason where it gave one, otherwise words in snake_case.
    public var reason: String { Self.reasons[self] ?? "code_\(rawValue)" }

    /// Whose reason it is; nil for Fanfare's own outcomes and for retries, whose reasons all providers share.
    public var provider: PushProvider? {
        switch rawValue {
        case 64...71, 96...151: .apns
        case 72...79, 152...191: .fcm
        case 80...87, 192...231: .webpush
        default: nil
        }
    }

    /// What to record instead of a ``OutcomeKind/gone`` while the device must be kept, as when the prune fuse is blown.
    ///
    /// Every other outcome is returned unchanged.
    public var keepingDevice: Outcome {
        switch self {
        case .goneAPNSUnregistered: .apnsUnregistered
        case .goneAPNSExpiredToken: .apnsExpiredToken
        case .goneAPNSBadDeviceToken: .apnsBadDeviceToken
        case .goneAPNSStatus410: .apnsStatus410
        case .goneFCMUnregistered: .fcmUnregistered
        case .goneFCMInvalidToken: .fcmInvalidToken
        case .goneFCMAPNSUnregistered: .fcmAPNSUnregistered
        case .goneWebPushNotFound: .webPushNotFound
        case .goneWebPushGone: .webPushGone
        case .goneWebPushInvalidSubscription: .webPushInvalidSubscription
        default: self
        }
    }
}
