internal import FanfareCore

/// The reasons in APNs error bodies and GOAWAY debug data.
///
/// Source: Apple, "Handling notification responses from APNs"; for broadcasts "Handling error responses from Apple Push
/// Notification service". The raw value is Apple's spelling.
public enum APNsReason: String, CaseIterable, Sendable {
    /// 400: collapse id over 64 bytes.
    case badCollapseId = "BadCollapseId"
    /// 400: not a valid token, or a token of the other environment.
    case badDeviceToken = "BadDeviceToken"
    /// 400: `apns-expiration` is not a number.
    case badExpirationDate = "BadExpirationDate"
    /// 400: `apns-id` is not a UUID.
    case badMessageId = "BadMessageId"
    /// 400: priority unknown or not allowed for the push type.
    case badPriority = "BadPriority"
    /// 400: `apns-topic` is invalid.
    case badTopic = "BadTopic"
    /// 400: the token belongs to another app.
    case deviceTokenNotForTopic = "DeviceTokenNotForTopic"
    /// 400: a header appears twice.
    case duplicateHeaders = "DuplicateHeaders"
    /// 400: the connection was idle too long.
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
    /// 403: client certificate for the other environment.
    case badCertificateEnvironment = "BadCertificateEnvironment"
    /// 403: provider token older than one hour.
    case expiredProviderToken = "ExpiredProviderToken"
    /// 403: action not allowed.
    case forbidden = "Forbidden"
    /// 403: bad signature, key id or team id, or a revoked key.
    case invalidProviderToken = "InvalidProviderToken"
    /// 403: neither certificate nor provider token.
    case missingProviderToken = "MissingProviderToken"
    /// 403: the key is unrelated to the first key of the connection.
    case unrelatedKeyIdInToken = "UnrelatedKeyIdInToken"
    /// 403: key not enabled for this environment; also observed as `BadEnvironmentKeyInToken`.
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
    /// 429: too many consecutive pushes to this device.
    case tooManyRequests = "TooManyRequests"
    /// 500: internal server error.
    case internalServerError = "InternalServerError"
    /// 503: overloaded.
    case serviceUnavailable = "ServiceUnavailable"
    /// 503: the server is shutting down.
    case shutdown = "Shutdown"

    /// Broadcast, 400: the channel id is malformed.
    case badChannelId = "BadChannelId"
    /// Broadcast, 400: parameters malformed.
    case badRequestParams = "BadRequestParams"
    /// Broadcast, 400: body malformed.
    case badRequestPayload = "BadRequestPayload"
    /// Broadcast, 400: the app has reached its limit of channels.
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

    /// Undocumented spellings that were observed.
    private static let otherSpellings: [String: APNsReason] = [
        "BadEnvironmentKeyInToken": .badEnvironmentKeyIdInToken,
        "Service Unavailable": .serviceUnavailable,
    ]

    /// Finds a reason by its documented spelling or one that was observed.
    ///
    /// - Parameter text: the reason as APNs wrote it, compared exactly.
    public init?(text: String) {
        guard let reason = APNsReason(rawValue: text) ?? Self.otherSpellings[text] else { return nil }
        self = reason
    }

    /// The status that Apple documents for the reason.
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
