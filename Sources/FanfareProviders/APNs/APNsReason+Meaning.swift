public import FanfareCore

extension APNsReason {
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

    /// The outcome where a push ends with this reason and its device is kept.
    ///
    /// Nil for reasons that are always answered by another attempt.
    public var rejection: Outcome? { Self.rejections[self] }

    /// Outcomes carry Apple's spelling as their reason.
    private static let rejections: [APNsReason: Outcome] = OutcomeBlock.apns.rows.reduce(into: [:]) { found, row in
        guard row.outcome.kind == .rejected else { return }
        if let reason = APNsReason(rawValue: row.reason) { found[reason] = row.outcome }
    }
}
