/// What the providers' documentation says of each of their reasons: written down once more, apart from the sender's code.
enum RejectionTables {
    /// Cases that stop nobody else: one daemon takes them all.
    static func independent(_ provider: ProviderUnderTest) -> [ConformanceCase] {
        switch provider {
        case .apns: apns
        case .fcm: fcm
        case .webpush: webPush
        }
    }

    /// Cases after which a sender waits, since its credential is refused.
    static let stopping: [ConformanceCase] = apnsStopping + fcmStopping + webPushStopping

    /// Cases after which a sender waits, since everything it sends is to wait.
    static let holding: [ConformanceCase] = [
        ConformanceCase(.fcm, "QUOTA_EXCEEDED", nil, "retrying/sender_throttled", "pending/not_attempted"),
        ConformanceCase(
            .fcm,
            "busy",
            #""reason": "UNAVAILABLE", "retry_after": 120"#,
            "retrying/unavailable",
            "pending/not_attempted"
        ),
        ConformanceCase(
            .webpush,
            "wns406",
            #""status": 406, "body": """#,
            "retrying/sender_throttled",
            "pending/not_attempted"
        ),
    ]

    private static let accepted = "accepted/accepted"

    private static let apns: [ConformanceCase] =
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
            once(.apns, "InternalServerError", "server_error"), once(.apns, "ServiceUnavailable", "unavailable"),
            once(.apns, "Shutdown", "shutdown"), once(.apns, "IdleTimeout", "idle_timeout"),
            once(.apns, "UnrelatedKeyIdInToken", "other_connection"),
        ]

    private static let apnsStopping: [ConformanceCase] =
        [
            "BadTopic", "MissingTopic", "TopicDisallowed", "BadCertificate", "BadCertificateEnvironment", "Forbidden",
            "MissingProviderToken", "BadEnvironmentKeyIdInToken",
        ].map { ConformanceCase(.apns, $0, nil, "rejected/\($0)") } + [
            // A spelling that was seen besides the documented one.
            ConformanceCase(
                .apns,
                "BadEnvironmentKeyInToken",
                #""status": 403, "reason": "BadEnvironmentKeyInToken""#,
                "rejected/BadEnvironmentKeyIdInToken"
            ),
            ConformanceCase(
                .apns,
                "InvalidProviderToken",
                nil,
                "retrying/credential_renewed",
                "rejected/InvalidProviderToken"
            ),
        ]

    private static let fcm: [ConformanceCase] = [
        ConformanceCase(.fcm, "INVALID_ARGUMENT", nil, "rejected/INVALID_ARGUMENT"),
        ConformanceCase(.fcm, "UNREGISTERED", nil, "gone/UNREGISTERED"),
        ConformanceCase(.fcm, "SENDER_ID_MISMATCH", nil, "rejected/SENDER_ID_MISMATCH"),
        ConformanceCase(.fcm, "THIRD_PARTY_AUTH_ERROR", nil, "rejected/THIRD_PARTY_AUTH_ERROR"),
        ConformanceCase(.fcm, "APNS_AUTH_ERROR", nil, "rejected/THIRD_PARTY_AUTH_ERROR"),
        ConformanceCase(
            .fcm,
            "unspecified",
            #""status": 400, "reason": "UNSPECIFIED_ERROR""#,
            "rejected/UNSPECIFIED_ERROR"
        ),
        ConformanceCase(
            .fcm,
            "malformed",
            body(400, "INVALID_ARGUMENT", malformed),
            "gone/invalid_token"
        ),
        ConformanceCase(
            .fcm,
            "relayed410",
            body(400, "INVALID_ARGUMENT", "Disabled", apns: (410, "Unregistered")),
            "gone/APNs_Unregistered"
        ),
        ConformanceCase(
            .fcm,
            "relayed400",
            body(400, "INVALID_ARGUMENT", "Bad", apns: (400, "BadDeviceToken")),
            "rejected/APNs_BadDeviceToken"
        ),
        once(.fcm, "INTERNAL", "server_error"), once(.fcm, "UNAVAILABLE", "unavailable"),
        once(.fcm, "UNSPECIFIED_ERROR", "server_error"),
    ]

    private static let fcmStopping: [ConformanceCase] = [
        // Without FCM's own code it is about the sender, never about a token.
        ConformanceCase(.fcm, "api-not-enabled", #""status": 403"#, "rejected/PERMISSION_DENIED"),
        ConformanceCase(.fcm, "no-such-project", #""status": 404"#, "rejected/NOT_FOUND"),
        ConformanceCase(
            .fcm,
            "still-unauthenticated",
            #""status": 401"#,
            "retrying/credential_renewed",
            "rejected/UNAUTHENTICATED"
        ),
    ]

    private static let webPush: [ConformanceCase] =
        ["BadTTL", "BadUrgency", "BadTopic", "BadEncryption", "BadCachePolicy", "KeyReused", "MissingTTL"].map {
            ConformanceCase(.webpush, $0, nil, "rejected/bad_request")
        } + [
            ConformanceCase(.webpush, "NotFound", nil, "gone/not_found"),
            ConformanceCase(.webpush, "Gone", nil, "gone/gone"),
            ConformanceCase(.webpush, "MethodNotAllowed", nil, "rejected/method_not_allowed"),
            ConformanceCase(.webpush, "PayloadTooLarge", nil, "rejected/payload_too_large"),
            ConformanceCase(.webpush, "KeyMismatch", nil, "rejected/vapid_key_mismatch"),
            ConformanceCase(.webpush, "TooManyRequests", nil, "retrying/device_throttled", "pending/not_attempted"),
            ConformanceCase(
                .webpush,
                "blocked",
                #""status": 410, "body": "Domain Blocked""#,
                "rejected/domain_blocked"
            ),
            ConformanceCase(
                .webpush,
                "errno108",
                #""status": 400, "body": "{\"errno\": 108, \"message\": \"router type\"}""#,
                "gone/invalid_subscription"
            ),
            ConformanceCase(
                .webpush,
                "apple",
                #""status": 400, "body": "{\"reason\": \"VapidPkHashMismatch\"}""#,
                "rejected/vapid_key_mismatch"
            ),
            ConformanceCase(
                .webpush,
                "redirect",
                #""status": 307, "location": "https://127.0.0.1:1/""#,
                "rejected/status_3xx"
            ),
            ConformanceCase(.webpush, "BadAudience", nil, "rejected/forbidden"),
            ConformanceCase(.webpush, "nameless403", #""status": 403, "body": "no""#, "rejected/forbidden"),
            once(.webpush, "InternalServerError", "server_error"), once(.webpush, "ServiceUnavailable", "unavailable"),
        ]

    private static let webPushStopping: [ConformanceCase] =
        ["BadAuthorization", "BadKey"].map { ConformanceCase(.webpush, $0, nil, "rejected/forbidden") } + [
            ConformanceCase(.webpush, "BadToken", nil, "retrying/credential_renewed", "rejected/forbidden"),
            ConformanceCase(.webpush, "Unauthorized", nil, "retrying/credential_renewed", "rejected/unauthorized"),
        ]

    private static let malformed = "The registration token is not a valid FCM registration token"

    /// Once refused for a passing reason, then taken.
    private static func once(_ provider: ProviderUnderTest, _ reason: String, _ word: String) -> ConformanceCase {
        let fault = #""reason": "\#(reason)", "times": 1"#
        return ConformanceCase(provider, reason, fault, "retrying/\(word)", accepted)
    }

    /// An answer of FCM, word for word.
    private static func body(
        _ status: Int,
        _ code: String,
        _ message: String,
        apns: (status: Int, reason: String)? = nil
    ) -> String {
        let type = #"\"@type\":\"type.googleapis.com/google.firebase.fcm.v1."#
        let relayed = apns.map {
            #",{\#(type)ApnsError\",\"statusCode\":\#($0.status),\"reason\":\"\#($0.reason)\"}"#
        }
        let details = #"{\#(type)FcmError\",\"errorCode\":\"\#(code)\"}\#(relayed ?? "")"#
        let error =
            #"\"code\":\#(status),\"status\":\"\#(code)\",\"message\":\"\#(message)\",\"details\":[\#(details)]"#
        return #""status": \#(status), "body": "{\"error\":{\#(error)}}""#
    }
}
