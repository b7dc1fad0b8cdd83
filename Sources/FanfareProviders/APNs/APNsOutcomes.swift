internal import FanfareCore

/// The outcomes of APNs that code refers to by name; the rows of ``OutcomeBlock/apns`` say what they mean.
extension Outcome {
    static var goneAPNSUnregistered: Outcome { Outcome(rawValue: 64) }
    static var goneAPNSExpiredToken: Outcome { Outcome(rawValue: 65) }
    static var goneAPNSBadDeviceToken: Outcome { Outcome(rawValue: 66) }
    static var goneAPNSStatus410: Outcome { Outcome(rawValue: 67) }
    static var apnsStatus4xx: Outcome { Outcome(rawValue: 96) }
    static var apnsStatus3xx: Outcome { Outcome(rawValue: 97) }
    static var apnsStatusOther: Outcome { Outcome(rawValue: 98) }
    static var apnsBadDeviceToken: Outcome { Outcome(rawValue: 101) }
    static var apnsStatus410: Outcome { Outcome(rawValue: 126) }
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
                "The app was removed from the device, or the token is inactive; the device is disabled."
            ),
            OutcomeRow(.goneAPNSExpiredToken, "ExpiredToken", "The token expired; the device is disabled."),
            OutcomeRow(
                .goneAPNSBadDeviceToken,
                "BadDeviceToken",
                "The token is unknown in both APNs environments; the device is disabled."
            ),
            OutcomeRow(.goneAPNSStatus410, "status_410", "Gone (410) without a known reason; the device is disabled."),
            OutcomeRow(.apnsStatus4xx, "status_4xx", "A 4xx status without a known reason."),
            OutcomeRow(.apnsStatus3xx, "status_3xx", "A redirect; Fanfare follows none."),
            OutcomeRow(.apnsStatusOther, "status_other", "A status outside 200 to 599."),
            OutcomeRow(100, "BadCollapseId", "The collapse id is over 64 bytes."),
            OutcomeRow(
                .apnsBadDeviceToken,
                "BadDeviceToken",
                "The token is not valid here; the device is kept because evidence is lacking, or because of the pruning breaker."
            ),
            OutcomeRow(102, "BadExpirationDate", "apns-expiration is not a number."),
            OutcomeRow(103, "BadMessageId", "apns-id is not a UUID."),
            OutcomeRow(104, "BadPriority", "The priority is unknown, or not allowed for this push type."),
            OutcomeRow(105, "BadTopic", "apns-topic is invalid: look at the app's topic."),
            OutcomeRow(106, "DeviceTokenNotForTopic", "The token belongs to another app than the topic."),
            OutcomeRow(107, "DuplicateHeaders", "A header appears twice."),
            OutcomeRow(108, "InvalidPushType", "The push type is unknown, or not allowed here."),
            OutcomeRow(109, "MissingDeviceToken", "The path has no token."),
            OutcomeRow(110, "MissingTopic", "A topic is required: look at the app's topic."),
            OutcomeRow(111, "PayloadEmpty", "The body is empty."),
            OutcomeRow(112, "TopicDisallowed", "The credential does not allow pushes to this topic."),
            OutcomeRow(113, "BadCertificate", "The client certificate was rejected."),
            OutcomeRow(114, "BadCertificateEnvironment", "The client certificate is for the other APNs environment."),
            OutcomeRow(
                115,
                "ExpiredProviderToken",
                "The provider token is too old, also after it was renewed: look at this machine's clock."
            ),
            OutcomeRow(116, "Forbidden", "The action is not allowed."),
            OutcomeRow(
                117,
                "InvalidProviderToken",
                "The provider token is invalid, also after it was renewed: look at key_id, team_id and the key."
            ),
            OutcomeRow(118, "MissingProviderToken", "The request had neither a certificate nor a provider token."),
            OutcomeRow(
                119,
                "UnrelatedKeyIdInToken",
                "APNs calls the key unrelated to the connection's first key. APNs also says so if the connection used only one key."
            ),
            OutcomeRow(120, "BadEnvironmentKeyIdInToken", "The key is not enabled for this environment."),
            OutcomeRow(121, "BadPath", "The path is wrong."),
            OutcomeRow(122, "MethodNotAllowed", "The method is not POST."),
            OutcomeRow(123, "PayloadTooLarge", "The payload is over APNs' limit."),
            OutcomeRow(
                124,
                "Unregistered",
                "The token is unregistered, but the device is kept: it was registered later, or the pruning breaker keeps it."
            ),
            OutcomeRow(
                125,
                "ExpiredToken",
                "The token expired, but the device is kept: it was registered later, or the pruning breaker keeps it."
            ),
            OutcomeRow(.apnsStatus410, "status_410", "Gone (410) without a known reason; the device is kept."),
            OutcomeRow(128, "BadChannelId", "The channel id is malformed."),
            OutcomeRow(129, "BadRequestParams", "The broadcast's parameters are malformed."),
            OutcomeRow(130, "BadRequestPayload", "The broadcast's body is malformed."),
            OutcomeRow(131, "CannotCreateChannelConfig", "The app already has the maximum number of channels."),
            OutcomeRow(132, "ChannelNotRegistered", "There is no such channel for this app and environment."),
            OutcomeRow(133, "FeatureNotEnabled", "Broadcasts are not enabled for the app."),
            OutcomeRow(134, "MissingChannelId", "The broadcast has no channel id."),
            OutcomeRow(135, "MissingPushType", "The broadcast has no push type."),
            OutcomeRow(136, "TopicMismatch", "The credential is for another topic."),
        ]
    )
}
