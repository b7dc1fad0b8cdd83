package import FanfareCore

extension Outcome {
    /// APNs 410: the app was removed, or the token is inactive for the topic.
    package static var goneAPNSUnregistered: Outcome { Outcome(rawValue: 64) }
    /// APNs 410: the token expired.
    package static var goneAPNSExpiredToken: Outcome { Outcome(rawValue: 65) }
    /// APNs 400 in both environments.
    package static var goneAPNSBadDeviceToken: Outcome { Outcome(rawValue: 66) }
    /// APNs 410 without a reason known to this version.
    package static var goneAPNSStatus410: Outcome { Outcome(rawValue: 67) }
    /// APNs: a 4xx status without a reason known to this version.
    package static var apnsStatus4xx: Outcome { Outcome(rawValue: 96) }
    /// APNs: a 3xx status; redirects are not followed.
    package static var apnsStatus3xx: Outcome { Outcome(rawValue: 97) }
    /// APNs: a status outside 200–599.
    package static var apnsStatusOther: Outcome { Outcome(rawValue: 98) }
    /// APNs 400: collapse id over 64 bytes.
    package static var apnsBadCollapseId: Outcome { Outcome(rawValue: 100) }
    /// APNs 400: token not valid here; the device is kept for lack of evidence, or because the prune fuse is blown.
    package static var apnsBadDeviceToken: Outcome { Outcome(rawValue: 101) }
    /// APNs 400: `apns-expiration` is not a number.
    package static var apnsBadExpirationDate: Outcome { Outcome(rawValue: 102) }
    /// APNs 400: `apns-id` is not a UUID.
    package static var apnsBadMessageId: Outcome { Outcome(rawValue: 103) }
    /// APNs 400: priority unknown or not allowed for the push type.
    package static var apnsBadPriority: Outcome { Outcome(rawValue: 104) }
    /// APNs 400: `apns-topic` is invalid.
    package static var apnsBadTopic: Outcome { Outcome(rawValue: 105) }
    /// APNs 400: the token belongs to another app.
    package static var apnsDeviceTokenNotForTopic: Outcome { Outcome(rawValue: 106) }
    /// APNs 400: a header appears twice.
    package static var apnsDuplicateHeaders: Outcome { Outcome(rawValue: 107) }
    /// APNs 400: push type unknown or not allowed here.
    package static var apnsInvalidPushType: Outcome { Outcome(rawValue: 108) }
    /// APNs 400: the path has no token.
    package static var apnsMissingDeviceToken: Outcome { Outcome(rawValue: 109) }
    /// APNs 400: a topic is required.
    package static var apnsMissingTopic: Outcome { Outcome(rawValue: 110) }
    /// APNs 400: no body.
    package static var apnsPayloadEmpty: Outcome { Outcome(rawValue: 111) }
    /// APNs 400: the credential may not push to this topic.
    package static var apnsTopicDisallowed: Outcome { Outcome(rawValue: 112) }
    /// APNs 403: client certificate rejected.
    package static var apnsBadCertificate: Outcome { Outcome(rawValue: 113) }
    /// APNs 403: client certificate for the other environment.
    package static var apnsBadCertificateEnvironment: Outcome { Outcome(rawValue: 114) }
    /// APNs 403: provider token too old, even after a renewal.
    package static var apnsExpiredProviderToken: Outcome { Outcome(rawValue: 115) }
    /// APNs 403: action not allowed.
    package static var apnsForbidden: Outcome { Outcome(rawValue: 116) }
    /// APNs 403: provider token invalid, even after a renewal.
    package static var apnsInvalidProviderToken: Outcome { Outcome(rawValue: 117) }
    /// APNs 403: neither certificate nor provider token.
    package static var apnsMissingProviderToken: Outcome { Outcome(rawValue: 118) }
    /// APNs 403: the key is unrelated to the first key of the connection, even on a new connection.
    package static var apnsUnrelatedKeyIdInToken: Outcome { Outcome(rawValue: 119) }
    /// APNs 403: key not enabled for this environment.
    package static var apnsBadEnvironmentKeyIdInToken: Outcome { Outcome(rawValue: 120) }
    /// APNs 404: bad path.
    package static var apnsBadPath: Outcome { Outcome(rawValue: 121) }
    /// APNs 405: not POST.
    package static var apnsMethodNotAllowed: Outcome { Outcome(rawValue: 122) }
    /// APNs 413: payload over the limit.
    package static var apnsPayloadTooLarge: Outcome { Outcome(rawValue: 123) }
    /// APNs 410, but the device is kept: the evidence is older than the registration, twice, or the prune fuse is
    /// blown.
    package static var apnsUnregistered: Outcome { Outcome(rawValue: 124) }
    /// As ``apnsUnregistered``, for an expired token.
    package static var apnsExpiredToken: Outcome { Outcome(rawValue: 125) }
    /// As ``apnsUnregistered``, for a 410 without a reason known to this version.
    package static var apnsStatus410: Outcome { Outcome(rawValue: 126) }
    /// APNs broadcast 400: the channel id is malformed.
    package static var apnsBadChannelId: Outcome { Outcome(rawValue: 128) }
    /// APNs broadcast 400: parameters malformed.
    package static var apnsBadRequestParams: Outcome { Outcome(rawValue: 129) }
    /// APNs broadcast 400: body malformed.
    package static var apnsBadRequestPayload: Outcome { Outcome(rawValue: 130) }
    /// APNs broadcast 400: the app has reached its limit of channels.
    package static var apnsCannotCreateChannelConfig: Outcome { Outcome(rawValue: 131) }
    /// APNs broadcast 400: no such channel for this app and environment.
    package static var apnsChannelNotRegistered: Outcome { Outcome(rawValue: 132) }
    /// APNs broadcast 400: broadcasts are not enabled for the app.
    package static var apnsFeatureNotEnabled: Outcome { Outcome(rawValue: 133) }
    /// APNs broadcast 400: no channel id.
    package static var apnsMissingChannelId: Outcome { Outcome(rawValue: 134) }
    /// APNs broadcast 400: no push type.
    package static var apnsMissingPushType: Outcome { Outcome(rawValue: 135) }
    /// APNs broadcast 403: the credential is for another topic.
    package static var apnsTopicMismatch: Outcome { Outcome(rawValue: 136) }
}

extension OutcomeBlock {
    /// The outcomes of pushes to APNs: 64–71 gone; 96–99 rejected by status class, from 100 by reason, 128–143 for
    /// broadcast channels.
    static let apns = OutcomeBlock(
        codes: [64...71, 96...151],
        rows: [
            OutcomeRow(
                .goneAPNSUnregistered,
                "Unregistered",
                keptAs: .apnsUnregistered,
                "The app was removed from the device, or the token is inactive; the device is disabled."
            ),
            OutcomeRow(
                .goneAPNSExpiredToken,
                "ExpiredToken",
                keptAs: .apnsExpiredToken,
                "The token expired; the device is disabled."
            ),
            OutcomeRow(
                .goneAPNSBadDeviceToken,
                "BadDeviceToken",
                keptAs: .apnsBadDeviceToken,
                "The token is unknown in both APNs environments; the device is disabled."
            ),
            OutcomeRow(
                .goneAPNSStatus410,
                "status_410",
                keptAs: .apnsStatus410,
                "Gone (410) without a known reason; the device is disabled."
            ),
            OutcomeRow(.apnsStatus4xx, "status_4xx", "A 4xx status without a known reason."),
            OutcomeRow(.apnsStatus3xx, "status_3xx", "A redirect; Fanfare follows none."),
            OutcomeRow(.apnsStatusOther, "status_other", "A status outside 200 to 599."),
            OutcomeRow(.apnsBadCollapseId, "BadCollapseId", "The collapse id is over 64 bytes."),
            OutcomeRow(
                .apnsBadDeviceToken,
                "BadDeviceToken",
                "The token is not valid here; the device is kept because evidence is lacking, or because of the pruning breaker."
            ),
            OutcomeRow(.apnsBadExpirationDate, "BadExpirationDate", "apns-expiration is not a number."),
            OutcomeRow(.apnsBadMessageId, "BadMessageId", "apns-id is not a UUID."),
            OutcomeRow(.apnsBadPriority, "BadPriority", "The priority is unknown, or not allowed for this push type."),
            OutcomeRow(.apnsBadTopic, "BadTopic", "apns-topic is invalid: look at the app's topic."),
            OutcomeRow(
                .apnsDeviceTokenNotForTopic,
                "DeviceTokenNotForTopic",
                "The token belongs to another app than the topic."
            ),
            OutcomeRow(.apnsDuplicateHeaders, "DuplicateHeaders", "A header appears twice."),
            OutcomeRow(.apnsInvalidPushType, "InvalidPushType", "The push type is unknown, or not allowed here."),
            OutcomeRow(.apnsMissingDeviceToken, "MissingDeviceToken", "The path has no token."),
            OutcomeRow(.apnsMissingTopic, "MissingTopic", "A topic is required: look at the app's topic."),
            OutcomeRow(.apnsPayloadEmpty, "PayloadEmpty", "The body is empty."),
            OutcomeRow(.apnsTopicDisallowed, "TopicDisallowed", "The credential does not allow pushes to this topic."),
            OutcomeRow(.apnsBadCertificate, "BadCertificate", "The client certificate was rejected."),
            OutcomeRow(
                .apnsBadCertificateEnvironment,
                "BadCertificateEnvironment",
                "The client certificate is for the other APNs environment."
            ),
            OutcomeRow(
                .apnsExpiredProviderToken,
                "ExpiredProviderToken",
                "The provider token is too old, also after it was renewed: look at this machine's clock."
            ),
            OutcomeRow(.apnsForbidden, "Forbidden", "The action is not allowed."),
            OutcomeRow(
                .apnsInvalidProviderToken,
                "InvalidProviderToken",
                "The provider token is invalid, also after it was renewed: look at key_id, team_id and the key."
            ),
            OutcomeRow(
                .apnsMissingProviderToken,
                "MissingProviderToken",
                "The request had neither a certificate nor a provider token."
            ),
            OutcomeRow(
                .apnsUnrelatedKeyIdInToken,
                "UnrelatedKeyIdInToken",
                "APNs calls the key unrelated to the connection's first key. APNs also says so if the connection used only one key."
            ),
            OutcomeRow(
                .apnsBadEnvironmentKeyIdInToken,
                "BadEnvironmentKeyIdInToken",
                "The key is not enabled for this environment."
            ),
            OutcomeRow(.apnsBadPath, "BadPath", "The path is wrong."),
            OutcomeRow(.apnsMethodNotAllowed, "MethodNotAllowed", "The method is not POST."),
            OutcomeRow(.apnsPayloadTooLarge, "PayloadTooLarge", "The payload is over APNs' limit."),
            OutcomeRow(
                .apnsUnregistered,
                "Unregistered",
                "The token is unregistered, but the device is kept: it was registered later, or the pruning breaker keeps it."
            ),
            OutcomeRow(
                .apnsExpiredToken,
                "ExpiredToken",
                "The token expired, but the device is kept: it was registered later, or the pruning breaker keeps it."
            ),
            OutcomeRow(
                .apnsStatus410,
                "status_410",
                "Gone (410) without a known reason; the device is kept."
            ),
            OutcomeRow(.apnsBadChannelId, "BadChannelId", "The channel id is malformed."),
            OutcomeRow(.apnsBadRequestParams, "BadRequestParams", "The broadcast's parameters are malformed."),
            OutcomeRow(.apnsBadRequestPayload, "BadRequestPayload", "The broadcast's body is malformed."),
            OutcomeRow(
                .apnsCannotCreateChannelConfig,
                "CannotCreateChannelConfig",
                "The app already has the maximum number of channels."
            ),
            OutcomeRow(
                .apnsChannelNotRegistered,
                "ChannelNotRegistered",
                "There is no such channel for this app and environment."
            ),
            OutcomeRow(.apnsFeatureNotEnabled, "FeatureNotEnabled", "Broadcasts are not enabled for the app."),
            OutcomeRow(.apnsMissingChannelId, "MissingChannelId", "The broadcast has no channel id."),
            OutcomeRow(.apnsMissingPushType, "MissingPushType", "The broadcast has no push type."),
            OutcomeRow(.apnsTopicMismatch, "TopicMismatch", "The credential is for another topic."),
        ]
    )
}
