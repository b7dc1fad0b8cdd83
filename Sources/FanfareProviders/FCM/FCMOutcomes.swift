internal import FanfareCore

/// The outcomes of FCM that code refers to by name; the rows of ``OutcomeBlock/fcm`` say what they mean.
extension Outcome {
    static var goneFCMUnregistered: Outcome { Outcome(rawValue: 72) }
    static var goneFCMInvalidToken: Outcome { Outcome(rawValue: 73) }
    static var goneFCMAPNSUnregistered: Outcome { Outcome(rawValue: 74) }
    static var fcmStatus4xx: Outcome { Outcome(rawValue: 152) }
    static var fcmStatus3xx: Outcome { Outcome(rawValue: 153) }
    static var fcmStatusOther: Outcome { Outcome(rawValue: 154) }
    static var fcmInvalidArgument: Outcome { Outcome(rawValue: 156) }
    static var fcmSenderIDMismatch: Outcome { Outcome(rawValue: 158) }
    static var fcmThirdPartyAuthError: Outcome { Outcome(rawValue: 159) }
    static var fcmUnspecifiedError: Outcome { Outcome(rawValue: 160) }
    static var fcmUnauthenticated: Outcome { Outcome(rawValue: 161) }
    static var fcmPermissionDenied: Outcome { Outcome(rawValue: 162) }
    static var fcmNotFound: Outcome { Outcome(rawValue: 163) }
    static var fcmInvalidToken: Outcome { Outcome(rawValue: 164) }
    static var fcmAPNSBadDeviceToken: Outcome { Outcome(rawValue: 166) }
    static var fcmUnregisteredNew: Outcome { Outcome(rawValue: 167) }
}

extension OutcomeBlock {
    /// The outcomes of pushes to FCM: 72–79 gone; 152–155 rejected by status class, from 156 by error code.
    static let fcm = OutcomeBlock(
        codes: [72...79, 152...191],
        rows: [
            OutcomeRow(
                .goneFCMUnregistered,
                "UNREGISTERED",
                "The app was removed, or the token expired or was replaced; the device is disabled."
            ),
            OutcomeRow(.goneFCMInvalidToken, "invalid_token", "The token itself is malformed; the device is disabled."),
            OutcomeRow(
                .goneFCMAPNSUnregistered,
                "APNs_Unregistered",
                "APNs told FCM that the token is gone; the device is disabled."
            ),
            OutcomeRow(.fcmStatus4xx, "status_4xx", "A 4xx status without a known code."),
            OutcomeRow(.fcmStatus3xx, "status_3xx", "A redirect; Fanfare follows none."),
            OutcomeRow(.fcmStatusOther, "status_other", "A status outside 200 to 599."),
            OutcomeRow(
                .fcmInvalidArgument,
                "INVALID_ARGUMENT",
                "A field is bad or unknown, or the message is too large."
            ),
            OutcomeRow(
                157,
                "UNREGISTERED",
                "The token is gone; the device is kept by the pruning breaker, or because the token may be that of a Live Activity."
            ),
            OutcomeRow(.fcmSenderIDMismatch, "SENDER_ID_MISMATCH", "The token belongs to another Firebase project."),
            OutcomeRow(
                .fcmThirdPartyAuthError,
                "THIRD_PARTY_AUTH_ERROR",
                "The APNs or Web Push credential stored in Firebase is bad."
            ),
            OutcomeRow(.fcmUnspecifiedError, "UNSPECIFIED_ERROR", "FCM refused the message without a reason."),
            OutcomeRow(
                .fcmUnauthenticated,
                "UNAUTHENTICATED",
                "The access token was refused, also after it was renewed."
            ),
            OutcomeRow(
                .fcmPermissionDenied,
                "PERMISSION_DENIED",
                "The FCM API is not enabled, or the service account may not send."
            ),
            OutcomeRow(.fcmNotFound, "NOT_FOUND", "There is no such project."),
            OutcomeRow(
                .fcmInvalidToken,
                "invalid_token",
                "FCM calls the token malformed. The device is kept until FCM refuses another rule's push, or if pruning has stopped."
            ),
            OutcomeRow(
                165,
                "APNs_Unregistered",
                "APNs told FCM that the token is gone; the pruning breaker keeps the device."
            ),
            OutcomeRow(
                .fcmAPNSBadDeviceToken,
                "APNs_BadDeviceToken",
                "APNs told FCM that the token is bad: it is stale, or belongs to another environment than FCM's key."
            ),
            OutcomeRow(
                .fcmUnregisteredNew,
                "UNREGISTERED_new",
                "FCM does not know a FID that registered less than 10 minutes ago; the device is kept."
            ),
        ]
    )
}
