extension ConformanceTable {
    /// The cases of APNs, from Apple's table of reasons.
    static let apns = ConformanceTable(
        .apns,
        independent: APNs.independent,
        stopping: APNs.stopping,
        throttled: ("TooManyRequests", "device_throttled"),
        expired: #""reason": "ExpiredProviderToken""#
    )
}

private enum APNs {
    static let independent: [ConformanceCase] =
        [
            "BadCollapseId", "BadExpirationDate", "BadMessageId", "BadPriority", "DeviceTokenNotForTopic",
            "DuplicateHeaders", "InvalidPushType", "MissingDeviceToken", "PayloadEmpty", "BadPath", "MethodNotAllowed",
            "PayloadTooLarge",
        ].map { ConformanceCase(.apns, $0, nil, "rejected/\($0)") } + [
            ConformanceCase(.apns, "Unregistered", nil, "gone/Unregistered"),
            ConformanceCase(.apns, "ExpiredToken", nil, "gone/ExpiredToken"),
            ConformanceCase(.apns, "BadDeviceToken", nil, "retrying/other_environment", "gone/BadDeviceToken"),
            ConformanceCase(.apns, "TooManyRequests", nil, "retrying/device_throttled", "pending/not_attempted"),
            ConformanceCase(
                .apns,
                "TooManyProviderTokenUpdates",
                nil,
                "retrying/sender_throttled",
                "pending/not_attempted"
            ),
            ConformanceCase.once(.apns, "InternalServerError", "server_error"),
            ConformanceCase.once(.apns, "ServiceUnavailable", "unavailable"),
            ConformanceCase.once(.apns, "Shutdown", "shutdown"),
            ConformanceCase.once(.apns, "IdleTimeout", "idle_timeout"),
            ConformanceCase.once(.apns, "UnrelatedKeyIdInToken", "other_connection"),
        ]

    static let stopping: [ConformanceCase] =
        [
            "BadTopic", "MissingTopic", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment", "Forbidden",
            "MissingProviderToken", "BadEnvironmentKeyIdInToken",
            "InvalidProviderToken",
        ].map { ConformanceCase.refused(.apns, $0, as: $0) } + [
            // An undocumented spelling that was observed.
            ConformanceCase.refused(
                .apns,
                "BadEnvironmentKeyInToken",
                #""status": 403, "reason": "BadEnvironmentKeyInToken""#,
                as: "BadEnvironmentKeyIdInToken"
            )
        ]
}
