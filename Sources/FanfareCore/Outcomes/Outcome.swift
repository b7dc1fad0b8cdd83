/// The recorded result of one attempt for one delivery: one byte, kept for as long as the logs.
///
/// SQL and several program versions read codes at the same time, so a code is never changed or reused. The range gives
/// the meaning (``OutcomeRange``); inside the ranges these blocks are reserved:
///
/// | codes | for |
/// |---|---|
/// | 21–31 | further final outcomes of Fanfare's own |
/// | 54–63 | further reasons to retry, shared by all providers |
/// | 64–95 | gone, 96–255: rejected; each provider has blocks of its own in both, which its folder names |
public struct Outcome: RawRepresentable, Hashable, Sendable {
    /// The code.
    public let rawValue: UInt8

    /// Takes a code from an `outcomes` column.
    ///
    /// - Parameter rawValue: any byte; a code that this version does not know may be a newer one's.
    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }
}

/// Fanfare's own outcomes, and the reasons to retry, that code refers to by name; ``OutcomeRow/shared`` says what
/// they mean.
extension Outcome {
    // Other modules inline package declarations only if they are inlinable.
    @inlinable package static var pending: Outcome { Outcome(rawValue: 0) }
    @inlinable package static var accepted: Outcome { Outcome(rawValue: 1) }
    @inlinable package static var attempted: Outcome { Outcome(rawValue: 2) }
    @inlinable package static var unknown: Outcome { Outcome(rawValue: 3) }
    @inlinable package static var expired: Outcome { Outcome(rawValue: 4) }
    @inlinable package static var cancelled: Outcome { Outcome(rawValue: 5) }
    @inlinable package static var superseded: Outcome { Outcome(rawValue: 6) }
    @inlinable package static var disabled: Outcome { Outcome(rawValue: 7) }
    @inlinable package static var optedOut: Outcome { Outcome(rawValue: 8) }
    @inlinable package static var refused: Outcome { Outcome(rawValue: 9) }
    @inlinable package static var backlogDropped: Outcome { Outcome(rawValue: 10) }
    @inlinable package static var exhausted: Outcome { Outcome(rawValue: 11) }
    @inlinable package static var destinationForbidden: Outcome { Outcome(rawValue: 12) }
    @inlinable package static var capped: Outcome { Outcome(rawValue: 13) }
    @inlinable package static var heldOut: Outcome { Outcome(rawValue: 14) }
    @inlinable package static var quiet: Outcome { Outcome(rawValue: 15) }
    @inlinable package static var snoozed: Outcome { Outcome(rawValue: 16) }
    @inlinable package static var expiredQuiet: Outcome { Outcome(rawValue: 17) }
    @inlinable package static var expiredSnoozed: Outcome { Outcome(rawValue: 18) }
    @inlinable package static var aborted: Outcome { Outcome(rawValue: 19) }
    @inlinable package static var retracted: Outcome { Outcome(rawValue: 20) }
    @inlinable package static var retryingDeviceThrottled: Outcome { Outcome(rawValue: 32) }
    @inlinable package static var retryingTopicThrottled: Outcome { Outcome(rawValue: 33) }
    @inlinable package static var retryingSenderThrottled: Outcome { Outcome(rawValue: 34) }
    @inlinable package static var retryingServerError: Outcome { Outcome(rawValue: 35) }
    @inlinable package static var retryingUnavailable: Outcome { Outcome(rawValue: 36) }
    @inlinable package static var retryingShutdown: Outcome { Outcome(rawValue: 37) }
    @inlinable package static var retryingStatus5xx: Outcome { Outcome(rawValue: 38) }
    @inlinable package static var retryingAnswerLost: Outcome { Outcome(rawValue: 39) }
    @inlinable package static var retryingNotProcessed: Outcome { Outcome(rawValue: 40) }
    @inlinable package static var retryingNotSent: Outcome { Outcome(rawValue: 41) }
    @inlinable package static var retryingOtherConnection: Outcome { Outcome(rawValue: 43) }
    @inlinable package static var retryingOtherEnvironment: Outcome { Outcome(rawValue: 44) }
    @inlinable package static var retryingRegisteredLater: Outcome { Outcome(rawValue: 45) }
    @inlinable package static var retryingIdleTimeout: Outcome { Outcome(rawValue: 46) }
    @inlinable package static var heldQuiet: Outcome { Outcome(rawValue: 47) }
    @inlinable package static var heldSnoozed: Outcome { Outcome(rawValue: 48) }
    @inlinable package static var retryingForeignAnswer: Outcome { Outcome(rawValue: 49) }
    @inlinable package static var retryingStatus500: Outcome { Outcome(rawValue: 50) }
    @inlinable package static var retryingStatus502: Outcome { Outcome(rawValue: 51) }
    @inlinable package static var retryingStatus503: Outcome { Outcome(rawValue: 52) }
    @inlinable package static var retryingStatus504: Outcome { Outcome(rawValue: 53) }
}
