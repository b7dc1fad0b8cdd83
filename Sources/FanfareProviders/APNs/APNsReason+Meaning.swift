public import FanfareCore

extension APNsReason {
    /// The class of error that a reason reports, and so where the fix must be made.
    public enum Meaning: Equatable, Sendable {
        /// This push is invalid, and every retry of it would be.
        case badPush
        /// The configuration is invalid for everything in the scope.
        case badConfiguration(AnswerScope)
        /// The token is unknown in this environment.
        case unknownToken
        /// The token is dead.
        case deadToken
        /// The provider token must be renewed.
        case staleCredential
        /// The connection has expired, or served another purpose before.
        case badConnection
        /// Too many requests in the scope.
        case throttled(AnswerScope)
        /// APNs has an internal error.
        case serverFault
    }

    /// The class of error that the reason reports.
    public var meaning: Meaning {
        switch self {
        case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .deviceTokenNotForTopic,
            .duplicateHeaders, .invalidPushType, .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed,
            .payloadTooLarge, .badChannelId, .badRequestParams, .badRequestPayload, .cannotCreateChannelConfig,
            .channelNotRegistered, .missingChannelId, .missingPushType:
            .badPush
        case .badTopic, .missingTopic, .topicDisallowed, .featureNotEnabled: .badConfiguration(.topic)
        case .badCertificate, .badCertificateEnvironment, .forbidden, .missingProviderToken,
            .badEnvironmentKeyIdInToken, .topicMismatch:
            .badConfiguration(.credential)
        case .badDeviceToken: .unknownToken
        case .expiredToken, .unregistered: .deadToken
        case .expiredProviderToken, .invalidProviderToken: .staleCredential
        case .idleTimeout, .unrelatedKeyIdInToken, .shutdown: .badConnection
        case .tooManyRequests: .throttled(.device)
        case .tooManyProviderTokenUpdates: .throttled(.credential)
        case .internalServerError, .serviceUnavailable: .serverFault
        }
    }

    /// The outcome of a push that ends with this reason and whose device is kept.
    ///
    /// Nil for reasons that always lead to another attempt.
    public var rejection: Outcome? { Self.rejections[self] }

    /// The rejections by reason; an outcome's `reason` is Apple's spelling.
    private static let rejections: [APNsReason: Outcome] = allCases.reduce(into: [:]) { found, reason in
        found[reason] = OutcomeBlock.apns.rejection(reason.rawValue)
    }
}
