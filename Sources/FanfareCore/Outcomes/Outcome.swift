/// The recorded result of one attempt for one delivery: one byte, kept for as long as the logs.
///
/// SQL and several program versions read codes at the same time, so a code is never changed or reused. The range gives
/// the meaning (``OutcomeRange``); inside the ranges these blocks are reserved:
///
/// | codes | for |
/// |---|---|
/// | 19–31 | further final outcomes of Fanfare's own |
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

    /// No attempt was recorded yet.
    public static var pending: Outcome { Outcome(rawValue: 0) }
    /// The provider accepted the push.
    public static var accepted: Outcome { Outcome(rawValue: 1) }
    /// At most once: committed before the push is sent.
    public static var attempted: Outcome { Outcome(rawValue: 2) }

    /// At most once: no answer was recorded, and the push is not repeated.
    public static var unknown: Outcome { Outcome(rawValue: 3) }
    /// Past its `ttl`.
    public static var expired: Outcome { Outcome(rawValue: 4) }
    /// Cancelled before it was sent.
    public static var cancelled: Outcome { Outcome(rawValue: 5) }
    /// Replaced by a newer event.
    public static var superseded: Outcome { Outcome(rawValue: 6) }
    /// The device was disabled after planning.
    public static var disabled: Outcome { Outcome(rawValue: 7) }
    /// The user opted out after planning.
    public static var optedOut: Outcome { Outcome(rawValue: 8) }
    /// The message could not be rendered.
    public static var refused: Outcome { Outcome(rawValue: 9) }
    /// Dropped after an outage by the rule's `backlog` option.
    public static var backlogDropped: Outcome { Outcome(rawValue: 10) }
    /// The attempts, or the time limit without a `ttl`, are used up.
    public static var exhausted: Outcome { Outcome(rawValue: 11) }
    /// Its endpoint is, or resolves to, a forbidden address.
    public static var destinationForbidden: Outcome { Outcome(rawValue: 12) }
    /// The user has reached one of the rule's caps.
    public static var capped: Outcome { Outcome(rawValue: 13) }
    /// In the holdout (control) group.
    public static var heldOut: Outcome { Outcome(rawValue: 14) }
    /// Dropped in the device's quiet hours.
    public static var quiet: Outcome { Outcome(rawValue: 15) }
    /// The user has snoozed its category, and it is not held.
    public static var snoozed: Outcome { Outcome(rawValue: 16) }
    /// Its `ttl` ends before the quiet hours of the device do.
    public static var expiredQuiet: Outcome { Outcome(rawValue: 17) }
    /// Its `ttl` ends before the user's snooze does.
    public static var expiredSnoozed: Outcome { Outcome(rawValue: 18) }
    /// Its campaign was aborted before it was sent.
    public static var aborted: Outcome { Outcome(rawValue: 19) }

    /// Too many pushes for this device.
    public static var retryingDeviceThrottled: Outcome { Outcome(rawValue: 32) }
    /// Too many pushes for this topic.
    public static var retryingTopicThrottled: Outcome { Outcome(rawValue: 33) }
    /// Too many requests by this sender: project, credential or host.
    public static var retryingSenderThrottled: Outcome { Outcome(rawValue: 34) }
    /// The provider reported an internal fault.
    public static var retryingServerError: Outcome { Outcome(rawValue: 35) }
    /// The provider is overloaded.
    public static var retryingUnavailable: Outcome { Outcome(rawValue: 36) }
    /// The provider's server is shutting down; others take over.
    public static var retryingShutdown: Outcome { Outcome(rawValue: 37) }
    /// A 5xx status without a reason known to this version.
    public static var retryingStatus5xx: Outcome { Outcome(rawValue: 38) }
    /// Written to the socket, then lost, reset or timed out.
    public static var retryingAnswerLost: Outcome { Outcome(rawValue: 39) }
    /// The provider reported that it did not process the request (GOAWAY, REFUSED_STREAM).
    public static var retryingNotProcessed: Outcome { Outcome(rawValue: 40) }
    /// The request never reached the socket.
    public static var retryingNotSent: Outcome { Outcome(rawValue: 41) }
    /// Refused for its credential; resent with a renewed one.
    public static var retryingCredentialRenewed: Outcome { Outcome(rawValue: 42) }
    /// Refused because of the connection's earlier use; resent on a connection of its own.
    public static var retryingOtherConnection: Outcome { Outcome(rawValue: 43) }
    /// The token is unknown in one APNs environment; tried in the other.
    public static var retryingOtherEnvironment: Outcome { Outcome(rawValue: 44) }
    /// Gone by evidence older than the registration; tried once more.
    public static var retryingRegisteredLater: Outcome { Outcome(rawValue: 45) }
    /// The connection was idle for too long.
    public static var retryingIdleTimeout: Outcome { Outcome(rawValue: 46) }
    /// Held until the quiet hours of the device are over.
    public static var heldQuiet: Outcome { Outcome(rawValue: 47) }
    /// Held until the user's snooze is over.
    public static var heldSnoozed: Outcome { Outcome(rawValue: 48) }
    /// A 4xx status without the provider's own error body.
    public static var retryingForeignAnswer: Outcome { Outcome(rawValue: 49) }
    /// 500 without a reason known to this version.
    public static var retryingStatus500: Outcome { Outcome(rawValue: 50) }
    /// 502 without a reason known to this version.
    public static var retryingStatus502: Outcome { Outcome(rawValue: 51) }
    /// 503 without a reason known to this version.
    public static var retryingStatus503: Outcome { Outcome(rawValue: 52) }
    /// 504 without a reason known to this version.
    public static var retryingStatus504: Outcome { Outcome(rawValue: 53) }
}
