internal import FanfareCore

/// The reasons in APNs error bodies and GOAWAY debug data.
///
/// Source: Apple, "Handling notification responses from APNs"; for broadcasts "Handling error responses from Apple Push
/// Notification service". The raw value is Apple's spelling.
public enum APNsReason: String, CaseIterable, Sendable {
    /// 400: collapse id over 64 bytes.
    case badCollapseId = "BadCollapseId"
    /// 400: not a valid token, or one of the other environment.
    case badDeviceToken = "BadDeviceToken"
    /// 400: `apns-expiration` is no number.
    case badExpirationDate = "BadExpirationDate"
    /// 400: `apns-id` is no UUID.
    case badMessageId = "BadMessageId"
    /// 400: priority unknown or not allowed for the push type.
    case badPriority = "BadPriority"
    /// 400: `apns-topic` is invalid.
    case badTopic = "BadTopic"
    /// 400: the token belongs to another app.
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    /// 400: a header appears twice.
    case duplicateHeaders = "DuplicateHeaders"
    /// 400: the connection idled too long.
    case idleTimeout = "IdleTimeout"
    /// 400: push type unknown or not allowed here.
    case invalidPushType = "InvalidPushType"
    /// 400: the path has no token.
    case missingDeviceToken = "MissingDeviceToken"
    /// 400: a topic is required.
    case missingTopic = "MissingTopic"
    /// 400: no body.
    case payloadEmpty = "PayloadEmpty"
    /// 400: the credential may not push to this topic.
    case topicDisallowed = "TopicDisallowed"
    /// 403: client certificate rejected.
    case badCertificate = "BadCertificate"
    /// 403: client certificate of the other environment.
    case badCertificateEnvironment = "BadCertificateEnvironment"
    /// 403: provider token older than one hour.
    case expiredProviderToken = "ExpiredProviderToken"
    /// 403: action not allowed.
    case forbidden = "Forbidden"
    /// 403: bad signature, key id or team id, or a revoked key.
    case invalidProviderToken = "InvalidProviderToken"
    /// 403: neither certificate nor provider token.
    case missingProviderToken = "MissingProviderToken"
    /// 403: key not related to the one first used on the connection.
    case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
    /// 403: key not enabled for this environment; also seen as `BadEnvironmentKeyInToken`.
    case badEnvironmentKeyIdInToken = "BadEnvironmentKeyIdInToken"
    /// 404: the path is not `/3/device/…`.
    case badPath = "BadPath"
    /// 405: not POST.
    case methodNotAllowed = "MethodNotAllowed"
    /// 410: the token expired.
    case expiredToken = "ExpiredToken"
    /// 410: the app was removed, or the token is inactive for the topic.
    case unregistered = "Unregistered"
    /// 413: payload over the limit.
    case payloadTooLarge = "PayloadTooLarge"
    /// 429: provider token changed too often on a connection.
    case tooManyProviderTokenUpdates = "TooManyProviderTokenUpdates"
    /// 429: too many pushes for this device in a row.
    case tooManyRequests = "TooManyRequests"
    /// 500: server fault.
    case internalServerError = "InternalServerError"
    /// 503: overloaded.
    case serviceUnavailable = "ServiceUnavailable"
    /// 503: the server goes down.
    case shutdown = "Shutdown"

    /// Broadcast, 400: the channel id is malformed.
    case badChannelId = "BadChannelId"
    /// Broadcast, 400: parameters malformed.
    case badRequestParams = "BadRequestParams"
    /// Broadcast, 400: body malformed.
    case badRequestPayload = "BadRequestPayload"
    /// Broadcast, 400: as many channels as the app may have.
    case cannotCreateChannelConfig = "CannotCreateChannelConfig"
    /// Broadcast, 400: no such channel for this app and environment.
    case channelNotRegistered = "ChannelNotRegistered"
    /// Broadcast, 400: not enabled for the app.
    case featureNotEnabled = "FeatureNotEnabled"
    /// Broadcast, 400: no channel id.
    case missingChannelId = "MissingChannelId"
    /// Broadcast, 400: no push type.
    case missingPushType = "MissingPushType"
    /// Broadcast, 403: the credential is for another topic.
    case topicMismatch = "TopicMismatch"

    /// Spellings seen besides the documented one.
    private static let otherSpellings: [String: APNsReason] = [
        "BadEnvironmentKeyInToken": .badEnvironmentKeyIdInToken,
        "Service Unavailable": .serviceUnavailable,
    ]

    /// Recognises a reason in any spelling that was seen.
    ///
    /// - Parameter text: the reason as APNs wrote it; compared exactly.
    public init?(text: String) {
        guard let reason = APNsReason(rawValue: text) ?? Self.otherSpellings[text] else { return nil }
        self = reason
    }

    /// The status APNs documents for it.
    public var status: Int {
        switch self {
        case .badCollapseId, .badDeviceToken, .badExpirationDate, .badMessageId, .badPriority, .badTopic,
            .deviceTokenNotForTopic, .duplicateHeaders, .idleTimeout, .invalidPushType, .missingDeviceToken,
            .missingTopic, .payloadEmpty, .topicDisallowed, .badChannelId, .badRequestParams, .badRequestPayload,
            .cannotCreateChannelConfig, .channelNotRegistered, .featureNotEnabled, .missingChannelId, .missingPushType:
            400
        case .badCertificate, .badCertificateEnvironment, .expiredProviderToken, .forbidden, .invalidProviderToken,
            .missingProviderToken, .unrelatedKeyIdInToken, .badEnvironmentKeyIdInToken, .topicMismatch:
            403
        case .badPath: 404
        case .methodNotAllowed: 405
        case .expiredToken, .unregistered: 410
        case .payloadTooLarge: 413
        case .tooManyProviderTokenUpdates, .tooManyRequests: 429
        case .internalServerError: 500
        case .serviceUnavailable, .shutdown: 503
        }
    }
}
