extension APNSReason {
    /// What kind of mistake a reason reports, and so who can mend it.
    public enum Meaning: Equatable, Sendable {
        /// This push is wrong and would be wrong again.
        case badPush
        /// The configuration is wrong for everything in the scope.
        case badConfiguration(AnswerScope)
        /// The token is not known in this environment.
        case unknownToken
        /// The token is dead.
        case deadToken
        /// The provider token must be renewed.
        case staleCredential
        /// The connection is used up or was used for something else.
        case badConnection
        /// Too much was sent.
        case throttled(AnswerScope)
        /// APNs has a fault.
        case serverFault
    }

    /// What kind of mistake the reason reports.
    public var meaning: Meaning {
        switch self {
        case .badCollapseId, .badExpirationDate, .badMessageId, .badPriority, .deviceTokenNotForTopic,
            .duplicateHeaders, .invalidPushType, .missingDeviceToken, .payloadEmpty, .badPath, .methodNotAllowed,
            .payloadTooLarge:
            .badPush
        case .badTopic, .missingTopic, .topicDisallowed: .badConfiguration(.topic)
        case .badCertificate, .badCertificateEnvironment, .forbidden, .missingProviderToken,
            .badEnvironmentKeyIdInToken:
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

    /// The outcome where a push ends with this reason and its device is kept.
    ///
    /// Nil for reasons that are always answered by another attempt.
    public var rejection: Outcome? {
        switch self {
        case .badCollapseId: .apnsBadCollapseId
        case .badDeviceToken: .apnsBadDeviceToken
        case .badExpirationDate: .apnsBadExpirationDate
        case .badMessageId: .apnsBadMessageId
        case .badPriority: .apnsBadPriority
        case .badTopic: .apnsBadTopic
        case .deviceTokenNotForTopic: .apnsDeviceTokenNotForTopic
        case .duplicateHeaders: .apnsDuplicateHeaders
        case .invalidPushType: .apnsInvalidPushType
        case .missingDeviceToken: .apnsMissingDeviceToken
        case .missingTopic: .apnsMissingTopic
        case .payloadEmpty: .apnsPayloadEmpty
        case .topicDisallowed: .apnsTopicDisallowed
        case .badCertificate: .apnsBadCertificate
        case .badCertificateEnvironment: .apnsBadCertificateEnvironment
        case .expiredProviderToken: .apnsExpiredProviderToken
        case .forbidden: .apnsForbidden
        case .invalidProviderToken: .apnsInvalidProviderToken
        case .missingProviderToken: .apnsMissingProviderToken
        case .unrelatedKeyIdInToken: .apnsUnrelatedKeyIdInToken
        case .badEnvironmentKeyIdInToken: .apnsBadEnvironmentKeyIdInToken
        case .badPath: .apnsBadPath
        case .methodNotAllowed: .apnsMethodNotAllowed
        case .payloadTooLarge: .apnsPayloadTooLarge
        case .unregistered: .apnsUnregistered
        case .expiredToken: .apnsExpiredToken
        case .idleTimeout, .shutdown, .tooManyRequests, .tooManyProviderTokenUpdates, .internalServerError,
            .serviceUnavailable:
            nil
        }
    }
}
