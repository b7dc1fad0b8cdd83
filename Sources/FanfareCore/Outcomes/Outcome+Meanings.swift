extension Outcome {
    /// What it means, in one line for people.
    ///
    /// The column `meaning` of `outcome_codes`; a test holds it complete.
    public var meaning: String { Self.meanings[self] ?? "" }

    private static let meanings: [Outcome: String] = [
        ownMeanings, retryMeanings, apnsMeanings, fcmMeanings, webPushMeanings,
    ]
    .reduce(into: [:]) { all, some in all.merge(some) { $1 } }

    private static let ownMeanings: [Outcome: String] = [
        .pending: "Not attempted yet.",
        .accepted: "The provider took the push; no proof that the device showed it.",
        .attempted: "At most once: about to be handed to the provider, the answer is awaited.",
        .unknown: "At most once: handed to the provider and not answered, so it may have arrived; not tried again.",
        .expired: "Its ttl passed before it could be sent.",
        .cancelled: "fanfare.cancel reached it before it was sent.",
        .superseded: "A newer event of the same collapse key took its place.",
        .disabled: "The device was disabled, unregistered or forgotten between planning and sending.",
        .optedOut: "The user opted out between planning and sending.",
        .refused:
            "The message could not be made for this event and device; the delivery's detail names the rule and the field.",
        .backlogDropped: "Waited out an outage, and the rule's backlog option drops such events.",
        .exhausted: "All attempts, or the 24 hours without a ttl, were used up.",
        .destinationForbidden: "The endpoint is, or resolves to, an address that must not be connected to.",
    ]

    private static let retryMeanings: [Outcome: String] = [
        .retryingDeviceThrottled: "The provider takes no more pushes for this device now; tried again.",
        .retryingTopicThrottled: "The provider takes no more pushes for this topic now; tried again.",
        .retryingSenderThrottled: "The provider asks this project, credential or host to slow down; tried again.",
        .retryingServerError: "The provider reported an internal error; tried again.",
        .retryingUnavailable: "The provider is overloaded or down for now; tried again.",
        .retryingShutdown: "The provider's server was going down; tried again on another one.",
        .retryingStatus5xx: "A 5xx status without a reason that Fanfare knows; tried again.",
        .retryingAnswerLost: "The request was handed over and the answer lost; sent once more with the same ids.",
        .retryingNotProcessed: "The provider said that it did not process the request; tried again.",
        .retryingNotSent: "The request never left this machine; tried again.",
        .retryingCredentialRenewed: "The credential was refused; tried again with a fresh one.",
        .retryingOtherConnection:
            "Refused for what its connection was used for before; tried again on another connection.",
        .retryingOtherEnvironment: "The token is unknown in this APNs environment; tried in the other.",
        .retryingRegisteredLater: "Said to be gone, but registered again since; tried once more.",
        .retryingIdleTimeout: "The connection had been idle too long; tried again.",
    ]

    private static let apnsMeanings: [Outcome: String] = [
        .goneAPNSUnregistered: "The app was removed from the device, or the token is inactive; the device is disabled.",
        .goneAPNSExpiredToken: "The token expired; the device is disabled.",
        .goneAPNSBadDeviceToken: "The token is unknown in both APNs environments; the device is disabled.",
        .goneAPNSStatus410: "Gone (410) without a reason that Fanfare knows; the device is disabled.",
        .apnsStatus4xx: "A 4xx status without a reason that Fanfare knows.",
        .apnsStatus3xx: "A redirect; Fanfare follows none.",
        .apnsStatusOther: "A status outside 200 to 599.",
        .apnsBadCollapseId: "The collapse id is over 64 bytes.",
        .apnsBadDeviceToken:
            "The token is not valid here; the device is kept for want of evidence, or by the prune fuse.",
        .apnsBadExpirationDate: "apns-expiration is no number.",
        .apnsBadMessageId: "apns-id is no UUID.",
        .apnsBadPriority: "The priority is unknown, or not allowed for this push type.",
        .apnsBadTopic: "apns-topic is invalid: look at the app's topic.",
        .apnsDeviceTokenNotForTopic: "The token belongs to another app than the topic.",
        .apnsDuplicateHeaders: "A header appears twice.",
        .apnsInvalidPushType: "The push type is unknown, or not allowed here.",
        .apnsMissingDeviceToken: "The path has no token.",
        .apnsMissingTopic: "A topic is required: look at the app's topic.",
        .apnsPayloadEmpty: "The body is empty.",
        .apnsTopicDisallowed: "The credential may not push to this topic.",
        .apnsBadCertificate: "The client certificate was rejected.",
        .apnsBadCertificateEnvironment: "The client certificate is for the other environment.",
        .apnsExpiredProviderToken:
            "The provider token is too old, also after it was renewed: look at this machine's clock.",
        .apnsForbidden: "The action is not allowed.",
        .apnsInvalidProviderToken:
            "The provider token is invalid, also after it was renewed: look at key_id, team_id and the key.",
        .apnsMissingProviderToken: "Neither certificate nor provider token.",
        .apnsUnrelatedKeyIdInToken:
            "The key is not related to the connection's first, also on a connection of its own.",
        .apnsBadEnvironmentKeyIdInToken: "The key is not enabled for this environment.",
        .apnsBadPath: "The path is wrong.",
        .apnsMethodNotAllowed: "The method is not POST.",
        .apnsPayloadTooLarge: "The payload is over APNs' limit.",
        .apnsUnregistered: "Unregistered, but the device is kept: registered later, or by the prune fuse.",
        .apnsExpiredToken: "The token expired, but the device is kept: registered later, or by the prune fuse.",
        .apnsStatus410: "Gone (410) without a reason that Fanfare knows; the device is kept.",
        .apnsBadChannelId: "The channel id is malformed.",
        .apnsBadRequestParams: "The broadcast's parameters are malformed.",
        .apnsBadRequestPayload: "The broadcast's body is malformed.",
        .apnsCannotCreateChannelConfig: "The app has as many channels as it may.",
        .apnsChannelNotRegistered: "No such channel for this app and environment.",
        .apnsFeatureNotEnabled: "Broadcasts are not enabled for the app.",
        .apnsMissingChannelId: "The broadcast has no channel id.",
        .apnsMissingPushType: "The broadcast has no push type.",
        .apnsTopicMismatch: "The credential is for another topic.",
    ]

    private static let fcmMeanings: [Outcome: String] = [
        .goneFCMUnregistered: "The app was removed, or the token expired or was replaced; the device is disabled.",
        .goneFCMInvalidToken: "The token itself is malformed; the device is disabled.",
        .goneFCMAPNSUnregistered: "APNs told FCM that the token is gone; the device is disabled.",
        .fcmStatus4xx: "A 4xx status without a code that Fanfare knows.",
        .fcmStatus3xx: "A redirect; Fanfare follows none.",
        .fcmStatusOther: "A status outside 200 to 599.",
        .fcmInvalidArgument: "A field is bad or unknown, or the message too large.",
        .fcmUnregistered: "The token is gone; the device is kept by the prune fuse.",
        .fcmSenderIDMismatch: "The token belongs to another Firebase project.",
        .fcmThirdPartyAuthError: "The APNs or Web Push credential stored in Firebase is bad.",
        .fcmUnspecifiedError: "Refused, and FCM itself knows no more.",
        .fcmUnauthenticated: "The access token was refused, also after it was renewed.",
        .fcmPermissionDenied: "The FCM API is not enabled, or the service account may not send.",
        .fcmNotFound: "There is no such project.",
        .fcmInvalidToken: "The token itself is malformed; the device is kept by the prune fuse.",
        .fcmAPNSUnregistered: "APNs told FCM that the token is gone; the device is kept by the prune fuse.",
        .fcmAPNSBadDeviceToken:
            "APNs told FCM that the token is bad: stale, or of the environment that FCM's key is not for.",
    ]

    private static let webPushMeanings: [Outcome: String] = [
        .goneWebPushNotFound: "The subscription is unknown or expired; the device is disabled.",
        .goneWebPushGone: "The subscription was ended; the device is disabled.",
        .goneWebPushInvalidSubscription: "The subscription's endpoint or keys are damaged; the device is disabled.",
        .webPushStatus4xx: "A 4xx status that is in no table.",
        .webPushStatus3xx: "A redirect; Fanfare follows none.",
        .webPushStatusOther: "A status outside 200 to 599.",
        .webPushBadRequest: "A header or the body is wrong.",
        .webPushUnauthorized: "The VAPID token was refused, also after it was renewed.",
        .webPushForbidden: "The VAPID credential was refused.",
        .webPushNotFound: "The subscription is unknown; the device is kept by the prune fuse.",
        .webPushGone: "The subscription was ended; the device is kept by the prune fuse.",
        .webPushMethodNotAllowed: "The method is not POST.",
        .webPushPayloadTooLarge: "The body is over the service's limit.",
        .webPushVAPIDKeyMismatch:
            "The subscription was made with another VAPID key; kept, since a wrong key in the configuration says the same.",
        .webPushDomainBlocked: "The service blocks this sender's domain.",
        .webPushDropped: "The service took the push and says that nothing will be shown.",
        .webPushInvalidSubscription: "The subscription's endpoint is damaged; the device is kept by the prune fuse.",
    ]
}
