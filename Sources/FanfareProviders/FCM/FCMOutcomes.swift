package import FanfareCore

extension Outcome {
    /// FCM: the app was removed, or the token expired or was replaced.
    package static var goneFCMUnregistered: Outcome { Outcome(rawValue: 72) }
    /// FCM 400: the token itself is malformed.
    package static var goneFCMInvalidToken: Outcome { Outcome(rawValue: 73) }
    /// FCM forwarded a 410 of APNs.
    package static var goneFCMAPNSUnregistered: Outcome { Outcome(rawValue: 74) }
    /// FCM: a 4xx status without a code known to this version.
    package static var fcmStatus4xx: Outcome { Outcome(rawValue: 152) }
    /// FCM: a 3xx status; redirects are not followed.
    package static var fcmStatus3xx: Outcome { Outcome(rawValue: 153) }
    /// FCM: a status outside 200–599.
    package static var fcmStatusOther: Outcome { Outcome(rawValue: 154) }
    /// FCM 400: a bad field, an unknown one, or a message that is too large.
    package static var fcmInvalidArgument: Outcome { Outcome(rawValue: 156) }
    /// FCM: token gone, kept because the prune fuse is blown.
    package static var fcmUnregistered: Outcome { Outcome(rawValue: 157) }
    /// FCM 403: the token belongs to another Firebase project.
    package static var fcmSenderIDMismatch: Outcome { Outcome(rawValue: 158) }
    /// FCM 401: the APNs or Web Push credential stored in Firebase is bad.
    package static var fcmThirdPartyAuthError: Outcome { Outcome(rawValue: 159) }
    /// FCM: a 4xx status for which FCM gives no further information.
    package static var fcmUnspecifiedError: Outcome { Outcome(rawValue: 160) }
    /// FCM 401 without FcmError: access token refused, even after a renewal.
    package static var fcmUnauthenticated: Outcome { Outcome(rawValue: 161) }
    /// FCM 403 without FcmError: API not enabled, or the account may not send.
    package static var fcmPermissionDenied: Outcome { Outcome(rawValue: 162) }
    /// FCM 404 without FcmError: no such project.
    package static var fcmNotFound: Outcome { Outcome(rawValue: 163) }
    /// As ``goneFCMInvalidToken``, kept because the prune fuse is blown.
    package static var fcmInvalidToken: Outcome { Outcome(rawValue: 164) }
    /// As ``goneFCMAPNSUnregistered``, kept because the prune fuse is blown.
    package static var fcmAPNSUnregistered: Outcome { Outcome(rawValue: 165) }
    /// FCM forwarded `BadDeviceToken` of APNs: the token is stale, or of the environment that FCM's key does not serve;
    /// no evidence.
    package static var fcmAPNSBadDeviceToken: Outcome { Outcome(rawValue: 166) }
}

extension OutcomeBlock {
    /// The outcomes of pushes to FCM: 72–79 gone; 152–155 rejected by status class, from 156 by error code.
    static let fcm = OutcomeBlock(
        codes: [72...79, 152...191],
        rows: [
            OutcomeRow(
                .goneFCMUnregistered,
                "UNREGISTERED",
                keptAs: .fcmUnregistered,
                "The app was removed, or the token expired or was replaced; the device is disabled."
            ),
            OutcomeRow(
                .goneFCMInvalidToken,
                "invalid_token",
                keptAs: .fcmInvalidToken,
                "The token itself is malformed; the device is disabled."
            ),
            OutcomeRow(
                .goneFCMAPNSUnregistered,
                "APNs_Unregistered",
                keptAs: .fcmAPNSUnregistered,
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
                .fcmUnregistered,
                "UNREGISTERED",
                "The token is gone; the pruning breaker keeps the device."
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
                .fcmAPNSUnregistered,
                "APNs_Unregistered",
                "APNs told FCM that the token is gone; the pruning breaker keeps the device."
            ),
            OutcomeRow(
                .fcmAPNSBadDeviceToken,
                "APNs_BadDeviceToken",
                "APNs told FCM that the token is bad: it is stale, or belongs to another environment than FCM's key."
            ),
        ]
    )
}
