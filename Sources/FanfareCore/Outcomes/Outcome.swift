/// The recorded result of one attempt for one pair: one byte, kept for as long as the logs.
///
/// Codes are read by SQL and by several versions at once, so a code is never changed or used again for something else.
/// The range gives the meaning (``OutcomeRange``); inside the ranges these blocks are set aside:
///
/// | codes | for |
/// |---|---|
/// | 12–31 | further finals of Fanfare's own |
/// | 47–63 | further reasons to try again; they are shared by all providers |
/// | 64–71, 72–79, 80–87 | gone by APNs, FCM, Web Push; 88–95 unassigned |
/// | 96–151 | rejected by APNs: 96–99 by status class, from 100 by reason, 128–143 for broadcast channels |
/// | 152–191 | rejected by FCM: 152–155 by status class, from 156 by error code |
/// | 192–231 | rejected by a Web Push service: 192–195 by status class, from 196 by reason |
/// | 232–255 | unassigned |
public enum Outcome: UInt8, CaseIterable, Sendable {
    /// No attempt was recorded yet.
    case pending = 0
    /// The provider took the push.
    case accepted = 1
    /// At most once: committed before the push is handed over.
    case attempted = 2

    /// At most once: no answer was recorded and none will be asked for.
    case unknown = 3
    /// Past its `ttl`.
    case expired = 4
    /// Cancelled before it was sent.
    case cancelled = 5
    /// A newer event took its place.
    case superseded = 6
    /// The device was disabled meanwhile.
    case disabled = 7
    /// The user opted out meanwhile.
    case optedOut = 8
    /// The message could not be rendered.
    case refused = 9
    /// Dropped after an outage by the rule's `backlog` option.
    case backlogDropped = 10
    /// Attempts, or the time allowed without a `ttl`, used up.
    case exhausted = 11
    /// Its endpoint is, or resolves to, what must not be connected to.
    case destinationForbidden = 12

    /// Too many pushes for this device.
    case retryingDeviceThrottled = 32
    /// Too many pushes for this topic.
    case retryingTopicThrottled = 33
    /// Too many requests by this sender: project, credential or host.
    case retryingSenderThrottled = 34
    /// The provider reported an internal fault.
    case retryingServerError = 35
    /// The provider is overloaded.
    case retryingUnavailable = 36
    /// The provider's server goes down; others take over.
    case retryingShutdown = 37
    /// A 5xx status without a reason known to this version.
    case retryingStatus5xx = 38
    /// Handed to the socket, then lost, reset or past the request deadline.
    case retryingAnswerLost = 39
    /// The provider said that it did not process the request (GOAWAY, REFUSED_STREAM).
    case retryingNotProcessed = 40
    /// The request never reached the socket.
    case retryingNotSent = 41
    /// Refused for its credential; sent again with a renewed one.
    case retryingCredentialRenewed = 42
    /// Refused for what the connection was used for before; sent again on one of its own.
    case retryingOtherConnection = 43
    /// The token is unknown in one APNs environment; tried in the other.
    case retryingOtherEnvironment = 44
    /// Gone by an evidence older than the registration; tried once more.
    case retryingRegisteredLater = 45
    /// The connection idled too long.
    case retryingIdleTimeout = 46

    /// APNs 410: the app was removed, or the token is inactive for the topic.
    case goneAPNSUnregistered = 64
    /// APNs 410: the token expired.
    case goneAPNSExpiredToken = 65
    /// APNs 400 in both environments.
    case goneAPNSBadDeviceToken = 66
    /// APNs 410 without a reason known to this version.
    case goneAPNSStatus410 = 67

    /// FCM: the app was removed, or the token expired or was replaced.
    case goneFCMUnregistered = 72
    /// FCM 400: the token itself is malformed.
    case goneFCMInvalidToken = 73
    /// FCM passed on a 410 of APNs.
    case goneFCMAPNSUnregistered = 74

    /// Web Push 404: the subscription is unknown or expired.
    case goneWebPushNotFound = 80
    /// Web Push 410: the subscription was ended.
    case goneWebPushGone = 81
    /// Web Push 400: the endpoint itself is damaged (Mozilla errno 108).
    case goneWebPushInvalidSubscription = 82

    /// APNs: a 4xx status without a reason known to this version.
    case apnsStatus4xx = 96
    /// APNs: a 3xx status; redirects are not followed.
    case apnsStatus3xx = 97
    /// APNs: a status outside 200–599.
    case apnsStatusOther = 98
    /// APNs 400: collapse id over 64 bytes.
    case apnsBadCollapseId = 100
    /// APNs 400: token not valid here; kept for want of evidence or by the prune fuse.
    case apnsBadDeviceToken = 101
    /// APNs 400: `apns-expiration` is no number.
    case apnsBadExpirationDate = 102
    /// APNs 400: `apns-id` is no UUID.
    case apnsBadMessageId = 103
    /// APNs 400: priority unknown or not allowed for the push type.
    case apnsBadPriority = 104
    /// APNs 400: `apns-topic` is invalid.
    case apnsBadTopic = 105
    /// APNs 400: the token belongs to another app.
    case apnsDeviceTokenNotForTopic = 106
    /// APNs 400: a header appears twice.
    case apnsDuplicateHeaders = 107
    /// APNs 400: push type unknown or not allowed here.
    case apnsInvalidPushType = 108
    /// APNs 400: the path has no token.
    case apnsMissingDeviceToken = 109
    /// APNs 400: a topic is required.
    case apnsMissingTopic = 110
    /// APNs 400: no body.
    case apnsPayloadEmpty = 111
    /// APNs 400: the credential may not push to this topic.
    case apnsTopicDisallowed = 112
    /// APNs 403: client certificate rejected.
    case apnsBadCertificate = 113
    /// APNs 403: client certificate of the other environment.
    case apnsBadCertificateEnvironment = 114
    /// APNs 403: provider token too old, also after it was renewed.
    case apnsExpiredProviderToken = 115
    /// APNs 403: action not allowed.
    case apnsForbidden = 116
    /// APNs 403: provider token invalid, also after it was renewed.
    case apnsInvalidProviderToken = 117
    /// APNs 403: neither certificate nor provider token.
    case apnsMissingProviderToken = 118
    /// APNs 403: key not related to the connection's first, also on a connection of its own.
    case apnsUnrelatedKeyIdInToken = 119
    /// APNs 403: key not enabled for this environment.
    case apnsBadEnvironmentKeyIdInToken = 120
    /// APNs 404: bad path.
    case apnsBadPath = 121
    /// APNs 405: not POST.
    case apnsMethodNotAllowed = 122
    /// APNs 413: payload over the limit.
    case apnsPayloadTooLarge = 123
    /// APNs 410 with evidence older than the registration, twice, or stopped by the prune fuse.
    case apnsUnregistered = 124
    /// As ``apnsUnregistered``, for an expired token.
    case apnsExpiredToken = 125
    /// As ``apnsUnregistered``, for a 410 without a reason known to this version.
    case apnsStatus410 = 126

    /// APNs broadcast 400: the channel id is malformed.
    case apnsBadChannelId = 128
    /// APNs broadcast 400: parameters malformed.
    case apnsBadRequestParams = 129
    /// APNs broadcast 400: body malformed.
    case apnsBadRequestPayload = 130
    /// APNs broadcast 400: as many channels as the app may have.
    case apnsCannotCreateChannelConfig = 131
    /// APNs broadcast 400: no such channel for this app and environment.
    case apnsChannelNotRegistered = 132
    /// APNs broadcast 400: broadcasts are not enabled for the app.
    case apnsFeatureNotEnabled = 133
    /// APNs broadcast 400: no channel id.
    case apnsMissingChannelId = 134
    /// APNs broadcast 400: no push type.
    case apnsMissingPushType = 135
    /// APNs broadcast 403: the credential is for another topic.
    case apnsTopicMismatch = 136

    /// FCM: a 4xx status without a code known to this version.
    case fcmStatus4xx = 152
    /// FCM: a 3xx status; redirects are not followed.
    case fcmStatus3xx = 153
    /// FCM: a status outside 200–599.
    case fcmStatusOther = 154
    /// FCM 400: a bad field, an unknown one, or a message that is too large.
    case fcmInvalidArgument = 156
    /// FCM: token gone, kept by the prune fuse.
    case fcmUnregistered = 157
    /// FCM 403: the token belongs to another Firebase project.
    case fcmSenderIDMismatch = 158
    /// FCM 401: the APNs or Web Push credential stored in Firebase is bad.
    case fcmThirdPartyAuthError = 159
    /// FCM: a 4xx status of which FCM itself knows no more.
    case fcmUnspecifiedError = 160
    /// FCM 401 without FcmError: access token refused, also after it was renewed.
    case fcmUnauthenticated = 161
    /// FCM 403 without FcmError: API not enabled, or the account may not send.
    case fcmPermissionDenied = 162
    /// FCM 404 without FcmError: no such project.
    case fcmNotFound = 163
    /// As ``goneFCMInvalidToken``, kept by the prune fuse.
    case fcmInvalidToken = 164
    /// As ``goneFCMAPNSUnregistered``, kept by the prune fuse.
    case fcmAPNSUnregistered = 165
    /// FCM passed on `BadDeviceToken` of APNs: stale, or of the environment FCM's key is not for; no evidence.
    case fcmAPNSBadDeviceToken = 166

    /// Web Push: a 4xx status that is in no table.
    case webPushStatus4xx = 192
    /// Web Push: a 3xx status; redirects are not followed.
    case webPushStatus3xx = 193
    /// Web Push: a status outside 200–599.
    case webPushStatusOther = 194
    /// Web Push 400: a header or the body is wrong.
    case webPushBadRequest = 196
    /// Web Push 401: VAPID token refused, also after it was renewed.
    case webPushUnauthorized = 197
    /// Web Push 403: VAPID credential refused.
    case webPushForbidden = 198
    /// Web Push 404, kept by the prune fuse.
    case webPushNotFound = 199
    /// Web Push 410, kept by the prune fuse.
    case webPushGone = 200
    /// Web Push 405: not POST.
    case webPushMethodNotAllowed = 201
    /// Web Push 413: body over the service's limit.
    case webPushPayloadTooLarge = 202
    /// Web Push: the subscription was made with another VAPID key; kept, since a wrong key in the configuration says the same.
    case webPushVAPIDKeyMismatch = 203
    /// Web Push 410 of WNS: the sender's domain is blocked.
    case webPushDomainBlocked = 204
    /// Web Push 2xx of WNS whose status field says that nothing will be shown.
    case webPushDropped = 205
    /// As ``goneWebPushInvalidSubscription``, kept by the prune fuse.
    case webPushInvalidSubscription = 206
}
